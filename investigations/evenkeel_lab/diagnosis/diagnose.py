"""Diagnosis of a run: a headline, and all findings with the binding ones first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks import database, errors, order, process, queue, requests, rig, time, upstream
from evenkeel_lab.diagnosis.checks.thresholds import FEW
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location
from evenkeel_lab.diagnosis.latency_breakdown import Split, tenths
from evenkeel_lab.diagnosis.processes import processes_of_samples
from evenkeel_lab.diagnosis.slow_periods import MAX_INTERVALS, SlowPeriod, slow_periods

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
    order.stampede,
    process.waiting,
    database.valkey,
    upstream.share,
    upstream.stream_pace,
    upstream.provider_queue,
    upstream.deployments,
    requests.users,
    requests.streams,
    time.slow_period,
    time.trend,
)
"""All checks. Of several binding findings at one location, the first one names the cause."""
ORDER = tuple(Impact)
OF_ERRORS = {group.check for group in errors.GROUPS}


class Bound(StrEnum):
    """Part that limited a load."""

    UPSTREAM = "upstream-bound"
    LOCAL = "local-bound"
    RIG = "rig-bound"
    FREE = "not bound"
    UNKNOWN = "unknown"


LOCATIONS = {
    Location.UPSTREAM: Bound.UPSTREAM,
    Location.LOCAL: Bound.LOCAL,
    Location.RIG: Bound.RIG,
    Location.UNKNOWN: Bound.UNKNOWN,
}


@dataclass(frozen=True)
class Tenth:
    """One tenth of the load's time."""

    split: Split
    cores: float | None
    """Cores that all processes of the proxy used together; `None` if they were not sampled."""


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of one run."""

    name: str
    bound: Bound
    headline: str
    details: tuple[str, ...]
    """Sentences on where the time was spent, and in which periods."""
    findings: tuple[Finding, ...]
    """Findings in the order of `Impact`, the cause first."""
    split: Split
    over_time: tuple[Tenth, ...]
    slow_periods: tuple[SlowPeriod, ...]

    def document(self) -> dict[str, object]:
        """Return the diagnosis for `--json`, whose keys are older than the names of the fields."""
        document = asdict(self)
        document["spells"] = document.pop("slow_periods")
        return document | {"findings": [finding.document() for finding in self.findings]}


def diagnose(e: Evidence, more: Sequence[Finding] = ()) -> Diagnosis:
    """Run all checks and choose the headline. `more` holds findings from other sources than the run."""
    findings = [*(finding for check in CHECKS if (finding := check(e)) is not None), *more]
    bound, cause, headline = _choose(e, findings)
    # The cause first, then other binding findings.
    ranked = sorted(findings, key=lambda finding: (finding is not cause, ORDER.index(finding.impact)))
    is_unsure = cause is not None and cause.confidence is Confidence.LOW and bound is not Bound.UNKNOWN
    probably = ", probably" if is_unsure else ""
    return Diagnosis(
        e.name,
        bound,
        f"{bound}{probably}: {headline}",
        tuple(text for text in (_where(e.split), _when(e, ranked)) if text),
        tuple(ranked),
        e.split,
        tuple(Tenth(split, _cores(e, split)) for split in tenths(e.requests)),
        slow_periods(e.requests),
    )


def _choose(e: Evidence, findings: Sequence[Finding]) -> tuple[Bound, Finding | None, str]:
    """Return what limited the load, the finding that shows it (`None` if none does), and a sentence."""
    binds = [finding for finding in findings if finding.impact is Impact.BINDS]
    # A faulty rig makes all other findings unreliable. If most requests fail, the failures are the cause. A saturated
    # process limits the throughput even if the provider takes longer: with a faster provider, requests would only wait
    # in the proxy instead. After these, the location with the larger share of the time is the cause.
    ranks: tuple[Callable[[Finding], bool], ...] = (
        lambda finding: finding.location is Location.RIG,
        lambda finding: finding.check in OF_ERRORS,
        lambda finding: finding.check == "cpu",
        lambda finding: finding.location is Location.UPSTREAM,
        lambda finding: finding.location is Location.LOCAL,
    )
    for fits in ranks:
        cause = next((finding for finding in binds if fits(finding)), None)
        if cause is not None:
            caveat = "; by the proxy or the provider, was not recorded" if cause.location is Location.UNKNOWN else ""
            return LOCATIONS[cause.location], cause, cause.verdict + caveat
    good = e.split.latency.count if e.split.latency else 0
    if good < FEW:
        return Bound.UNKNOWN, None, f"only {good} requests went well, which may be an accident"
    return _unbound(e, findings)


def _unbound(e: Evidence, findings: Sequence[Finding]) -> tuple[Bound, Finding | None, str]:
    missing = {finding.check: finding for finding in findings if finding.impact is Impact.UNKNOWN}
    if "upstream" in missing:
        cause = missing["upstream"]
        return Bound.UNKNOWN, cause, f"{cause.verdict}, was not recorded"
    if "queue" in missing:
        # Many requests were in the proxy for most of their time, so they waited for something.
        passed = f"{formatting.share(e.split.share('proxy'))} of the time passed in the proxy"
        return Bound.UNKNOWN, missing["queue"], f"{passed}, but {missing['queue'].verdict} was not recorded"
    if "pace" in missing and upstream.depends_on_streams(e.split):
        return Bound.UNKNOWN, missing["pace"], f"{missing['pace'].verdict}, was not recorded"
    if e.is_cramped:
        return Bound.UNKNOWN, None, "the machine was full, and whether the proxy waited for a core was not recorded"
    so_far = ", as far as it was recorded" if "cpu" in missing else ""
    return Bound.FREE, None, f"nothing was busy all the time, and requests did not wait for each other{so_far}"


def _where(split: Split) -> str:
    """Return a sentence on where the time was spent."""
    if split.latency is None:
        return ""
    total = f"Of {formatting.ms(split.mean('latency'))} in the mean"
    if not split.is_upstream_known:
        return f"{total}, {formatting.ms(split.mean('wait'))} passed in the client; the rest cannot be distinguished."
    parts = {
        "upstream": "were the provider's",
        "proxy": "the proxy's",
        "stream": "streaming after the first token",
        "wait": "waiting in the client",
    }
    shares = [
        f"{formatting.ms(split.mean(name))} ({formatting.share(split.share(name))}) {label}"
        for name, label in parts.items()
        if name != "stream" or split.stream is not None
    ]
    return f"{total}, {', '.join(shares[:-1])}, and {shares[-1]}."


def _when(e: Evidence, findings: Sequence[Finding]) -> str:
    """Return a sentence on changes during the load; empty if there were too few requests to tell."""
    of_time = {finding.check: finding for finding in findings if finding.check in {"time", "trend"}}
    if of_time:
        return " ".join(f"{finding.verdict[0].upper()}{finding.verdict[1:]}." for finding in of_time.values())
    return "It was like that throughout." if len(e.requests) >= MAX_INTERVALS else ""


def _cores(e: Evidence, split: Split) -> float | None:
    # Samples are taken once a second.
    samples = e.during(split.begin, split.end) if split.end - split.begin >= 1 else []
    return sum(process.used for process in processes_of_samples(samples)) if samples else None
