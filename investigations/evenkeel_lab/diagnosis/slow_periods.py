"""When it was worse than it usually was, how long, and where: what happened at second 40."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.diagnosis.concurrency import in_flight
from evenkeel_lab.diagnosis.finding import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.diagnosis.requests import Numbers, Requests

MS = 1000.0
# As many periods as have twenty answers each, or else one of them makes a spell by chance.
ANSWERS, FEWEST, MOST = 20, 10, 200
# A spell takes thrice as long as is usual, and so much longer that somebody would ask.
FACTOR, LEAST_MS = 3.0, 50.0
# What is so for a third of the time is no spell.
MOST_OF_IT = 1 / 3
TOLD = 3
# Whose each part of a request's way is; streams flow at the provider's pace, or at the proxy's.
PLACES = {"wait": Place.RIG, "upstream": Place.UPSTREAM, "proxy": Place.LOCAL}


@dataclass(frozen=True)
class Spell:
    """A while in which requests stayed somewhere much longer than they usually did."""

    begin: float
    """In seconds since the first request was due."""
    end: float
    where: str
    """The part of a request's way: wait, upstream, proxy, stream, failing, or unknown."""
    inside: float
    """How many requests were there at once, in the mean."""
    usually: float
    answered: float
    """Requests a second that came to their end, from anywhere."""
    usually_answered: float
    silence: float
    """The longest while without any answer, in seconds."""

    @property
    def place(self) -> Place:
        """Whose it is."""
        return PLACES.get(self.where, Place.NOWHERE)


def spells(requests: Requests) -> tuple[Spell, ...]:
    """Return the worst of them, in their order."""
    if len(requests) < ANSWERS * FEWEST or requests.span <= 0:
        return ()
    edges = np.linspace(0.0, requests.span, int(np.clip(len(requests) // ANSWERS, FEWEST, MOST)) + 1)
    width = edges[1] / MS
    answered = np.histogram(requests.end, edges)[0] / width
    found = []
    for where, starts, ends in _parts(requests):
        inside = np.maximum(in_flight(starts, ends, edges), 0.0)
        # By Little's law, what those who were there had to stay; where nobody left, at least as long as the period.
        stay = inside / np.maximum(answered, 1 / width) * MS
        usual = float(np.median(stay))
        bad = (stay > FACTOR * usual) & (stay > usual + LEAST_MS)
        if bad.mean() > MOST_OF_IT:
            continue
        usually = float(np.median(inside))
        for first, last in _together(bad):
            part = slice(first, last + 1)
            begin, end = float(edges[first]), float(edges[last + 1])
            spell = Spell(
                begin / MS,
                end / MS,
                where,
                float(inside[part].mean()),
                usually,
                float(answered[part].mean()),
                float(np.median(answered)),
                _silence(requests, begin, end) / MS,
            )
            found.append((float((stay[part] - usual).sum()), spell))
    return _worst(found)


def _worst(found: list[tuple[float, Spell]]) -> tuple[Spell, ...]:
    """Keep the worst; what happened meanwhile elsewhere is its consequence."""
    kept: list[Spell] = []
    for _, spell in sorted(found, key=lambda one: -one[0]):
        if len(kept) < TOLD and not any(spell.begin < one.end and one.begin < spell.end for one in kept):
            kept.append(spell)
    return tuple(sorted(kept, key=lambda one: one.begin))


def _parts(requests: Requests) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Return where requests may be, and when each of them was there."""
    known, ok = requests.known, requests.ok
    yield "wait", requests.due, requests.sent
    yield "failing", requests.sent[~ok], requests.end[~ok]
    if not requests.one_clock:
        yield "unknown", requests.sent[ok], requests.end[ok]
        return
    yield "unknown", requests.sent[ok & ~known], requests.end[ok & ~known]
    yield "upstream", requests.received[known], requests.answered[known]
    yield "stream", requests.arrived[known], requests.end[known]
    # In the proxy on its way there, and again on its way back.
    starts = np.concatenate([requests.sent[known], requests.answered[known]])
    yield "proxy", starts, np.concatenate([requests.received[known], requests.arrived[known]])


def _together(bad: Numbers) -> Iterator[tuple[int, int]]:
    """Return from where to where it was bad; one good period between two bad ones ends nothing."""
    first = last = None
    for index in np.flatnonzero(bad):
        if last is not None and first is not None and index > last + 2:
            yield first, last
            first = None
        first, last = (int(index) if first is None else first), int(index)
    if first is not None and last is not None:
        yield first, last


def _silence(requests: Requests, begin: float, end: float) -> float:
    """Return the longest while without an answer that touches a period."""
    ends = np.sort(requests.end)
    around = ends[(ends >= begin) & (ends <= end)]
    before, after = ends[ends < begin][-1:], ends[ends > end][:1]
    # Before the first answer there was none since the load began.
    moments = np.concatenate([before if len(before) else [0.0], around, after])
    return float(np.diff(moments).max()) if len(moments) > 1 else 0.0
