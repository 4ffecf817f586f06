"""Periods of a load in which requests were much slower than usual, and in which part of their way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.diagnosis.concurrency import in_flight
from evenkeel_lab.diagnosis.finding import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.diagnosis.requests import Numbers, Requests

MS = 1000.0
# The load is divided into intervals of about `ANSWERS` answers; with fewer, an interval would be slow by chance.
ANSWERS, MIN_INTERVALS, MAX_INTERVALS = 20, 10, 200
# An interval is slow if requests take longer than usual by this factor and by this time.
FACTOR, MIN_EXCESS_MS = 3.0, 50.0
# If a larger share of the intervals is slow, that is the normal state and no slow period.
MAX_SLOW_SHARE = 1 / 3
MAX_PERIODS = 3
# Location of each part of a request's way. A stream is missing: provider or proxy may limit its speed.
LOCATIONS = {"wait": Location.RIG, "upstream": Location.UPSTREAM, "proxy": Location.LOCAL}


@dataclass(frozen=True)
class SlowPeriod:
    """Period in which requests stayed in one part of their way much longer than usual."""

    begin: float
    """Seconds since the first request was due."""
    end: float
    where: str
    """The part of a request's way: wait, upstream, proxy, stream, failing, or unknown."""
    inside: float
    """Mean number of requests in that part."""
    usually: float
    """Median number of requests in that part, over the whole load."""
    answered: float
    """Ended requests per second, wherever they had been."""
    usually_answered: float
    silence: float
    """Longest time without any answer, in seconds."""

    @property
    def location(self) -> Location:
        """Location of that part."""
        return LOCATIONS.get(self.where, Location.UNKNOWN)


def slow_periods(requests: Requests) -> tuple[SlowPeriod, ...]:
    """Return the worst slow periods in the order of time, at most `MAX_PERIODS`."""
    if len(requests) < ANSWERS * MIN_INTERVALS or requests.span <= 0:
        return ()
    edges = np.linspace(0.0, requests.span, int(np.clip(len(requests) // ANSWERS, MIN_INTERVALS, MAX_INTERVALS)) + 1)
    width = edges[1] / MS
    answered = np.histogram(requests.end, edges)[0] / width
    candidates = []
    for where, starts, ends in _parts(requests):
        inside = np.maximum(in_flight(starts, ends, edges), 0.0)
        # Mean stay by Little's law. Without any answer it is at least as long as the interval.
        stay = inside / np.maximum(answered, 1 / width) * MS
        usual = float(np.median(stay))
        bad = (stay > FACTOR * usual) & (stay > usual + MIN_EXCESS_MS)
        if bad.mean() > MAX_SLOW_SHARE:
            continue
        usually = float(np.median(inside))
        for first, last in _slow_runs(bad):
            part = slice(first, last + 1)
            begin, end = float(edges[first]), float(edges[last + 1])
            period = SlowPeriod(
                begin / MS,
                end / MS,
                where,
                float(inside[part].mean()),
                usually,
                float(answered[part].mean()),
                float(np.median(answered)),
                _silence(requests, begin, end) / MS,
            )
            candidates.append((float((stay[part] - usual).sum()), period))
    return _worst(candidates)


def _worst(candidates: list[tuple[float, SlowPeriod]]) -> tuple[SlowPeriod, ...]:
    """Keep the worst periods. A milder one at the same time in another part is a consequence of the worse one."""
    kept: list[SlowPeriod] = []
    for _, period in sorted(candidates, key=lambda candidate: -candidate[0]):
        if len(kept) < MAX_PERIODS and not any(period.begin < other.end and other.begin < period.end for other in kept):
            kept.append(period)
    return tuple(sorted(kept, key=lambda period: period.begin))


def _parts(requests: Requests) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Yield each part of the way with the times at which requests entered and left it."""
    known, ok = requests.known, requests.ok
    yield "wait", requests.due, requests.sent
    yield "failing", requests.sent[~ok], requests.end[~ok]
    if not requests.one_clock:
        yield "unknown", requests.sent[ok], requests.end[ok]
        return
    yield "unknown", requests.sent[ok & ~known], requests.end[ok & ~known]
    yield "upstream", requests.received[known], requests.answered[known]
    yield "stream", requests.arrived[known], requests.end[known]
    # A request is in the proxy twice: on its way to the provider and on its way back.
    starts = np.concatenate([requests.sent[known], requests.answered[known]])
    yield "proxy", starts, np.concatenate([requests.received[known], requests.arrived[known]])


def _slow_runs(bad: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each run of slow intervals. A single normal interval does not end a run."""
    first = last = None
    for index in np.flatnonzero(bad):
        if last is not None and first is not None and index > last + 2:
            yield first, last
            first = None
        first, last = (int(index) if first is None else first), int(index)
    if first is not None and last is not None:
        yield first, last


def _silence(requests: Requests, begin: float, end: float) -> float:
    """Return the longest time without an answer that overlaps the period."""
    ends = np.sort(requests.end)
    around = ends[(ends >= begin) & (ends <= end)]
    before, after = ends[ends < begin][-1:], ends[ends > end][:1]
    # Before the first answer, the time without one began with the load.
    moments = np.concatenate([before if len(before) else [0.0], around, after])
    return float(np.diff(moments).max()) if len(moments) > 1 else 0.0
