"""Check of the order in which requests leave the proxy: a fair one answers first what came first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.concurrency import concurrent_at
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.requests import Flags, Numbers

MS = 1000.0
# A request is looked at if it stays in the proxy longer than the median one by this factor, and this long.
SLOW, LEAST_MS = 3.0, 1000.0
# With fewer such requests, it is chance. More than the slowest of them need not be looked at.
LEAST, MOST_EXAMINED = 5, 1000


def stampede(e: Evidence) -> Finding | None:
    """Check whether requests waited in the proxy while more requests than were there passed them."""
    requests = e.requests
    if e.is_direct or not requests.one_clock:
        return None
    # The provider's time is left out: it may take longer for one request than for another, and so may failed attempts.
    first_try = requests.known & (requests.retries == 0)
    sent, stay = requests.sent[first_try], requests.proxy[first_try]
    if not len(stay):
        return None
    usual = float(np.median(stay))
    passed = _passed(sent, stay, usual)
    count = int(passed.sum())
    if count < LEAST:
        return None
    took, first = np.sort(stay[passed]), _busiest_second(sent[passed])
    together = int(((sent[passed] >= first) & (sent[passed] < first + MS)).sum())
    because = [
        f"{formatting.share(count / len(stay))} of the requests; the median one was there for {formatting.ms(usual)}",
        "each was passed by more requests than were in the proxy when it came",
        f"{together:,} of them came within one second, from second {first / MS:.1f} on",
    ]
    return Finding(
        "stampede",
        Location.LOCAL,
        Impact.COSTS,
        f"{count:,} requests stayed in the proxy for {formatting.ms(float(took[0]))} to "
        f"{formatting.ms(float(took[-1]))}, while later ones passed them",
        tuple(because),
        {"count": float(count), "share": count / len(stay), "slowest_ms": float(took[-1]), "usual_ms": usual},
        Confidence.FAIR,
        "the order of requests was recorded; what they waited for was not",
        "Something lets one of many waiting requests pass at a time. The callback `litellm_evenkeel.proxy.lean` "
        "changes the places in LiteLLM that are known for it; `evenkeel investigate NAME --traces` shows what requests "
        "wait for.",
    )


def _passed(sent: Numbers, stay: Numbers, usual: float) -> Flags:
    """Return which slow requests are passed by more requests than are in the proxy when they come."""
    left = sent + stay
    passed = np.zeros(len(sent), dtype=bool)
    slow = np.flatnonzero(stay >= max(SLOW * usual, LEAST_MS))
    slow = slow[np.argsort(stay[slow])[-MOST_EXAMINED:]]
    there = concurrent_at(sent, left, sent[slow])
    for index, count in zip(slow, there, strict=True):
        passed[index] = ((sent > sent[index]) & (left < left[index])).sum() > count
    return passed


def _busiest_second(moments: Numbers) -> float:
    """Return the moment after which most of `moments` lie within a second."""
    ordered = np.sort(moments)
    within = np.searchsorted(ordered, ordered + MS) - np.arange(len(ordered))
    return float(ordered[int(within.argmax())])
