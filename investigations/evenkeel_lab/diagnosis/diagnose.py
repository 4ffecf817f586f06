"""From what was recorded to one answer: the headline, and every finding behind it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks import database, errors, process, queue, requests, rig, time, upstream
from evenkeel_lab.diagnosis.checks.thresholds import FEW
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure
from evenkeel_lab.diagnosis.latency_breakdown import Split, tenths
from evenkeel_lab.diagnosis.processes import sampled
from evenkeel_lab.diagnosis.slow_periods import MOST as PERIODS, Spell, spells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel_lab.diagnosis.evidence import Evidence

CHECKS: tuple[Callable[[Evidence], Finding | None], ...] = (
    rig.load,
    rig.gates,
    rig.machine,
    rig.client,
    rig.provider,
    *errors.GROUPED,
    errors.none,
    errors.retries,
    process.cpu,
    process.loop,
    database.locks,
    database.commits,
    database.work,
    queue.queue,
    process.waiting,
    database.valkey,
    upstream.share,
    upstream.pace,
    upstream.crowded,
    upstream.deployments,
    requests.users,
    requests.streams,
    time.spell,
    time.trend,
)
"""All there are. Of those that bind at one place, the first names the cause."""
ORDER = tuple(State)
OF_ERRORS = {group.check for group in errors.GROUPS}


class Bound(StrEnum):
    """What a load was held back by."""

    UPSTREAM = "upstream-bound"
    LOCAL = "local-bound"
    RIG = "rig-bound"
    FREE = "not bound"
    UNKNOWN = "cannot be told"


PLACES = {
    Place.UPSTREAM: Bound.UPSTREAM,
    Place.LOCAL: Bound.LOCAL,
    Place.RIG: Bound.RIG,
    Place.NOWHERE: Bound.UNKNOWN,
}


@dataclass(frozen=True)
class Tenth:
    """A tenth of the load."""

    split: Split
    cores: float | None
    """What the proxy used, all its processes together; None if nobody looked."""


@dataclass(frozen=True)
class Diagnosis:
    """The answer for one run."""

    name: str
    bound: Bound
    headline: str
    details: tuple[str, ...]
    """Where the time went, and when."""
    findings: tuple[Finding, ...]
    """Those that bind first, then those that cost, those that do not, and what was not recorded."""
    split: Split
    over_time: tuple[Tenth, ...]
    spells: tuple[Spell, ...]


def diagnose(e: Evidence, more: Sequence[Finding] = ()) -> Diagnosis:
    """Ask all checks, and choose the headline; `more` is what is known besides."""
    found = [*(finding for check in CHECKS if (finding := check(e)) is not None), *more]
    bound, cause, headline = _choose(e, found)
    # The cause first, then whatever else binds.
    findings = sorted(found, key=lambda one: (one is not cause, ORDER.index(one.state)))
    told = spells(e.requests)
    return Diagnosis(
        e.name,
        bound,
        f"{bound}{', probably' if cause and cause.sure is Sure.LOW and bound is not Bound.UNKNOWN else ''}: {headline}",
        tuple(one for one in (_where(e.split), _when(e, findings)) if one),
        tuple(findings),
        e.split,
        tuple(Tenth(split, _cores(e, split)) for split in tenths(e.requests)),
        told,
    )


def _choose(e: Evidence, found: Sequence[Finding]) -> tuple[Bound, Finding | None, str]:
    """Return what bound the load, the finding that says so, and a sentence."""
    binds = [one for one in found if one.state is State.BINDS]
    # Where the rig is at fault, what it says of the rest is not to be trusted. Where most requests fail, that is it.
    # A process without any time left decides how much is answered, however long the provider takes beside it: a
    # faster provider would only have requests wait in the proxy instead. After these, the larger share counts.
    ranks: tuple[Callable[[Finding], bool], ...] = (
        lambda one: one.place is Place.RIG,
        lambda one: one.check in OF_ERRORS,
        lambda one: one.check == "cpu",
        lambda one: one.place is Place.UPSTREAM,
        lambda one: one.place is Place.LOCAL,
    )
    for fits in ranks:
        cause = next((one for one in binds if fits(one)), None)
        if cause is not None:
            doubt = "; by the proxy or the provider, was not recorded" if cause.place is Place.NOWHERE else ""
            return PLACES[cause.place], cause, cause.verdict + doubt
    good = e.split.latency.count if e.split.latency else 0
    if good < FEW:
        return Bound.UNKNOWN, None, f"only {good} requests went well, which may be an accident"
    return _unbound(e, found)


def _unbound(e: Evidence, found: Sequence[Finding]) -> tuple[Bound, Finding | None, str]:
    missing = {one.check: one for one in found if one.state is State.UNTOLD}
    if "upstream" in missing:
        cause = missing["upstream"]
        return Bound.UNKNOWN, cause, f"{cause.verdict}, was not recorded"
    if "queue" in missing:
        # Many were inside, and for most of their time: somebody waited for something.
        passed = f"{formatting.share(e.split.share('proxy'))} of the time passed in the proxy"
        return Bound.UNKNOWN, missing["queue"], f"{passed}, but {missing['queue'].verdict} was not recorded"
    if "pace" in missing and upstream.is_open(e.split):
        return Bound.UNKNOWN, missing["pace"], f"{missing['pace'].verdict}, was not recorded"
    if e.is_cramped:
        return Bound.UNKNOWN, None, "the machine was full, and whether the proxy waited for a core was not recorded"
    so_far = ", as far as it was recorded" if "cpu" in missing else ""
    return Bound.FREE, None, f"nothing was busy all the time, and requests did not wait for each other{so_far}"


def _where(split: Split) -> str:
    """Say where the time went."""
    if split.latency is None:
        return ""
    whole = f"Of {formatting.ms(split.mean('latency'))} in the mean"
    if not split.is_told:
        return f"{whole}, {formatting.ms(split.mean('wait'))} passed in the client; the rest cannot be told apart."
    parts = {
        "upstream": "were the provider's",
        "proxy": "the proxy's",
        "stream": "streaming after the first token",
        "wait": "waiting in the client",
    }
    told = [
        f"{formatting.ms(split.mean(name))} ({formatting.share(split.share(name))}) {said}"
        for name, said in parts.items()
        if name != "stream" or split.stream is not None
    ]
    return f"{whole}, {', '.join(told[:-1])}, and {told[-1]}."


def _when(e: Evidence, findings: Sequence[Finding]) -> str:
    """Say whether it was like that throughout."""
    of_time = {one.check: one for one in findings if one.check in {"time", "trend"}}
    if of_time:
        return " ".join(f"{one.verdict[0].upper()}{one.verdict[1:]}." for one in of_time.values())
    return "It was like that throughout." if len(e.requests) >= PERIODS else ""


def _cores(e: Evidence, split: Split) -> float | None:
    # Somebody looked once a second.
    samples = e.during(split.begin, split.end) if split.end - split.begin >= 1 else []
    return sum(one.used for one in sampled(samples)) if samples else None
