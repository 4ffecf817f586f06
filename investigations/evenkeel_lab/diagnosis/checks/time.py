"""Checks of changes during the load: slow periods and a growing latency."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FEW, SATURATED
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location
from evenkeel_lab.diagnosis.latency_breakdown import tenths
from evenkeel_lab.diagnosis.processes import processes_of_samples
from evenkeel_lab.diagnosis.slow_periods import LOCATIONS, slow_periods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.slow_periods import SlowPeriod

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
    Location.RIG: "Give the load more --connections or --workers, and leave its machine alone.",
    Location.UPSTREAM: "Only another account would have helped: look into the provider's log for that time.",
    Location.LOCAL: "Look into the proxy's log for that time: jobs that it runs on the side (spend, budgets, health "
    "checks), a callback, a reload, a worker that started anew.",
    Location.UNKNOWN: "Look into the proxy's and the provider's logs for that time.",
}
COLD = "The first requests meet cold caches and open all connections: warm the proxy up before what counts."
# Share of the run that counts as its beginning.
BEGINNING = 0.05
# The first three tenths are compared with the last three, if at least this number of tenths has answers.
MIN_TENTHS, GROWS, LEAST_MS = 8, 1.5, 20.0


def slow_period(e: Evidence) -> Finding | None:
    """Report the slow periods of the load."""
    periods = slow_periods(e.requests)
    if not periods:
        return None
    worst = max(periods, key=lambda period: (period.end - period.begin) * (period.inside - period.usually))
    is_cold = worst.begin <= 0 and worst.end <= 2 * BEGINNING * e.requests.span / MS
    return Finding(
        "time",
        worst.location,
        Impact.COSTS,
        f"{when(worst, e.requests.span / MS)} {_inside(worst)}, and {_answered(worst)}",
        tuple(line for period in periods for line in _lines(period, e)),
        {"begin": worst.begin, "end": worst.end, "inside": worst.inside, "usually": worst.usually},
        Confidence.HIGH if worst.location is not Location.UNKNOWN else Confidence.FAIR,
        "each request says where it was at each moment"
        if worst.location is not Location.UNKNOWN
        else "the records do not say where requests were meanwhile",
        COLD if is_cold else HINTS[worst.location],
    )


def trend(e: Evidence) -> Finding | None:
    """Check whether latency grew during the load, because more requests were sent than could be answered."""
    parts = [tenth for tenth in tenths(e.requests) if tenth.latency is not None]
    if len(parts) < MIN_TENTHS or len(e.requests) < MIN_TENTHS * FEW:
        return None
    first, last = parts[:3], parts[-3:]
    means = {
        name: tuple(fmean(tenth.mean(name) for tenth in part) for part in (first, last))
        for name in ("latency", "wait", "upstream", "proxy", "stream")
    }
    before, after = means.pop("latency")
    if after < GROWS * before or after - before < LEAST_MS:
        return None
    where = max(means, key=lambda name: means[name][1] - means[name][0])
    location = LOCATIONS.get(where, Location.UNKNOWN) if parts[0].is_upstream_known else Location.UNKNOWN
    crowd = tuple(fmean(tenth.in_flight for tenth in part) for part in (first, last))
    return Finding(
        "trend",
        location,
        Impact.COSTS,
        "it became slower and slower",
        (
            f"{formatting.ms(before)} in the first tenths, {formatting.ms(after)} in the last ones",
            f"{formatting.mean(crowd[0])} requests on their way at once, then {formatting.mean(crowd[1])}",
            *([f"most of it {WHERE[where]}"] if parts[0].is_upstream_known else []),
        ),
        {"before_ms": before, "after_ms": after},
        Confidence.FAIR,
        "a longer load would show whether it ends",
        "A load that asks for more than is answered piles up for as long as it lasts: lower --rate until it does not.",
    )


def when(period: SlowPeriod, span: float) -> str:
    """Return when the period was, in words."""
    if period.end >= span:
        return f"from second {period.begin:.1f} to the end"
    return f"from second {period.begin:.1f} to {period.end:.1f}"


def _lines(period: SlowPeriod, e: Evidence) -> Iterator[str]:
    text = f"second {period.begin:.1f} to {period.end:.1f}: {_inside(period)}, {_answered(period)}"
    yield f"{text}, at most {period.silence:.1f} s without an answer"
    samples = e.during(period.begin, period.end)
    if samples:
        busiest = max(processes_of_samples(samples), key=lambda process: process.each, default=None)
        if busiest is not None:
            usual = next((process.each for process in e.processes or () if process.pid == busiest.pid), 0.0)
            limit = ", which is all it has" if busiest.each >= SATURATED else ""
            yield f"during this, {busiest.title} used {busiest.each:.2f} of a core{limit} ({usual:.2f} on average)"


def _inside(period: SlowPeriod) -> str:
    usually = formatting.mean(period.usually)
    return f"{formatting.mean(period.inside)} requests were {WHERE[period.where]} (usually {usually})"


def _answered(period: SlowPeriod) -> str:
    return f"{formatting.rate(period.answered)} answered (usually {formatting.rate(period.usually_answered)})"
