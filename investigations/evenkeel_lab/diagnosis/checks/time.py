"""Whether it was like that throughout, or only for a while."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FEW, SATURATED
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure
from evenkeel_lab.diagnosis.latency_breakdown import tenths
from evenkeel_lab.diagnosis.processes import sampled
from evenkeel_lab.diagnosis.slow_periods import PLACES, spells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.slow_periods import Spell

MS = 1000.0
WHERE = {
    "wait": "waiting in the client",
    "upstream": "at the provider",
    "proxy": "inside the proxy",
    "stream": "streaming",
    "failing": "about to fail",
    "unknown": "on their way",
}
HINTS = {
    Place.RIG: "Give the load more --connections or --workers, and leave its machine alone.",
    Place.UPSTREAM: "Nothing of the proxy's would have helped but another account: look at the provider for that time.",
    Place.LOCAL: "Look into the proxy's log for that time: jobs that it runs on the side (spend, budgets, health "
    "checks), a callback, a reload, a worker that started anew.",
    Place.NOWHERE: "Look into the proxy's and the provider's logs for that time.",
}
COLD = "The first requests meet cold caches and open all connections: warm the proxy up before what counts."
# How much of the run from its beginning on is its beginning.
BEGINNING = 0.05
# Three tenths against three others, with a few between them; half as long again, and seen.
MANY, GROWS, LEAST_MS = 8, 1.5, 20.0


def spell(e: Evidence) -> Finding | None:
    """Say when it was much worse than usual."""
    found = spells(e.requests)
    if not found:
        return None
    worst = max(found, key=lambda one: (one.end - one.begin) * (one.inside - one.usually))
    is_cold = worst.begin <= 0 and worst.end <= 2 * BEGINNING * e.requests.span / MS
    return Finding(
        "time",
        worst.place,
        State.COSTS,
        f"{when(worst, e.requests.span / MS)} {_inside(worst)}, and {_answered(worst)}",
        tuple(told for one in found for told in _told(one, e)),
        {"begin": worst.begin, "end": worst.end, "inside": worst.inside, "usually": worst.usually},
        Sure.HIGH if worst.place is not Place.NOWHERE else Sure.FAIR,
        "each request says where it was at each moment"
        if worst.place is not Place.NOWHERE
        else "the records do not say where requests were meanwhile",
        COLD if is_cold else HINTS[worst.place],
    )


def trend(e: Evidence) -> Finding | None:
    """Say whether it became worse and worse: more was asked for than could be answered."""
    told = [one for one in tenths(e.requests) if one.latency is not None]
    if len(told) < MANY or len(e.requests) < MANY * FEW:
        return None
    first, last = told[:3], told[-3:]
    means = {
        name: tuple(fmean(one.mean(name) for one in part) for part in (first, last))
        for name in ("latency", "wait", "upstream", "proxy", "stream")
    }
    before, after = means.pop("latency")
    if after < GROWS * before or after - before < LEAST_MS:
        return None
    where = max(means, key=lambda name: means[name][1] - means[name][0])
    place = PLACES.get(where, Place.NOWHERE) if told[0].is_told else Place.NOWHERE
    crowd = tuple(fmean(one.in_flight for one in part) for part in (first, last))
    return Finding(
        "trend",
        place,
        State.COSTS,
        "it became slower and slower",
        (
            f"{formatting.ms(before)} in the first tenths, {formatting.ms(after)} in the last ones",
            f"{formatting.mean(crowd[0])} requests on their way at once, then {formatting.mean(crowd[1])}",
            *([f"most of it {WHERE[where]}"] if told[0].is_told else []),
        ),
        {"before_ms": before, "after_ms": after},
        Sure.FAIR,
        "a longer load would show whether it ends",
        "A load that asks for more than is answered piles up for as long as it lasts: lower --rate until it does not.",
    )


def when(one: Spell, span: float) -> str:
    """Say when that was."""
    if one.end >= span:
        return f"from second {one.begin:.1f} to the end"
    return f"from second {one.begin:.1f} to {one.end:.1f}"


def _told(one: Spell, e: Evidence) -> Iterator[str]:
    told = f"second {one.begin:.1f} to {one.end:.1f}: {_inside(one)}, {_answered(one)}"
    yield f"{told}, at most {one.silence:.1f} s without an answer"
    samples = e.during(one.begin, one.end)
    if samples:
        busiest = max(sampled(samples), key=lambda process: process.each, default=None)
        if busiest is not None:
            usual = next((one.each for one in e.processes or () if one.pid == busiest.pid), 0.0)
            said = ", which is all it has" if busiest.each >= SATURATED else ""
            yield f"meanwhile {busiest.title} used {busiest.each:.2f} of a core{said} ({usual:.2f} over the whole load)"


def _inside(one: Spell) -> str:
    return f"{formatting.mean(one.inside)} requests were {WHERE[one.where]} (usually {formatting.mean(one.usually)})"


def _answered(one: Spell) -> str:
    return f"{formatting.rate(one.answered)} answered (usually {formatting.rate(one.usually_answered)})"
