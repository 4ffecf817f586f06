"""Caveats of a session: everything that may be wrong with its results, each under a name."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.formatting import counted
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT
from evenkeel_lab.investigation_spec.session import Design
from evenkeel_lab.report.markdown import text
from evenkeel_lab.report.plot_data import counted_over_time, halves, median
from evenkeel_lab.runner.measurement.latency_summary import EDGES_MS, LEAST_BEYOND
from evenkeel_lab.runner.results.analysis import paired
from evenkeel_lab.runner.results.store import FIXED_ONCE_MEASURED, WORDS as ALL_WORDS
from evenkeel_lab.runner.schedule import PAIR, arms_of, schedule
from evenkeel_lab.runner.warm_up import COLD, WINDOWS
from evenkeel_lab.stats import LEAST_PAIRS, alpha_per_look, wording
from evenkeel_lab.stats.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary
    from evenkeel_lab.stats import Verdict
    from evenkeel_lab.stats.compare import Comparison

STAND_IN = "stand-in"
# Settings that are only wording. The hypothesis and the claims of others are not among them.
WORDS = {name: part for name, part in ALL_WORDS.items() if name not in FIXED_ONCE_MEASURED}
# From this share of time spent waiting for a core, a proxy is mentioned.
CROWDED = 0.2
STEADY = 1.2
# Slow requests are mentioned if their share among the first requests of a run is higher by this.
SLOW_MS, BURST_SHARE = 5000.0, 0.05
BURST, BURST_METRIC = "burst", "first_above_5s"
MEANINGS = {
    "noise": "The session is invalid, because two equal proxies differ",
    "gates": "The session is invalid, because too many pairs do not count",
    "changed": "The file was changed after the measurement",
    "few-pairs": "Some comparisons have too few pairs for a verdict",
    "no-look": "The session was judged after another number of pairs than was declared",
    "no-duets": "Some pairs ran one after the other, not at the same time",
    "rig-limited": "Some runs measure the test setup, and do not count",
    "failures": "Some requests failed",
    "crowded": "The proxies waited for a core, so all latencies are longer than on a larger machine",
    "not-warm": "Some proxies had not settled after their warm-up",
    "unknown": "Some metrics are not judged, because they have no value in some runs",
    "unsteady": "Latencies change by more than a fifth between the first and the second half of a run",
    BURST: "Some first requests of a run wait far longer than all later ones",
    "second-opinion": "A permutation test, which assumes no distribution, does not confirm one of the effects",
    "no-noise-floor": "The baseline was not measured against itself, so the size of the noise is unknown",
    "noisy": "Two equal proxies may differ by more than the margin",
    "no-commit": "The commit of the measurement is not known",
    "dirty": "There were uncommitted changes during the measurement",
    "resumed": "The session was interrupted, and something had changed before it went on",
    STAND_IN: "A stand-in for Prisma's engine made each query cost too much",
}
"""Each caveat in a few words, for lists of the caveats of many sessions."""


@dataclass(frozen=True)
class Caveat:
    """One caveat: its name, and a sentence that explains it."""

    name: str
    sentence: str

    @classmethod
    def of(cls, text: str) -> Caveat:
        """Parse `name: sentence`, without the full stop."""
        name, _, sentence = text.partition(": ")
        return cls(name, f"{sentence}.")


def caveats_of(summary: Summary, judgement: Judgement, present: Investigation | None) -> list[Caveat]:
    """Return all caveats, the gravest first. `present` is the investigation in its file today, `None` if unknown."""
    caveats = list(map(Caveat.of, judgement.invalid))
    if present is not None and not same_question(present, summary.investigation):
        caveats.append(Caveat("changed", "The file has been changed since the measurement."))
    for kind in (
        _pairs,
        _design,
        _runs,
        _core_contention,
        _warm_up,
        _unknown_metrics,
        _drift,
        _burst,
        _permutation_test,
        _noise,
        _provenance,
    ):
        caveats += kind(summary, judgement)
    return caveats


def same_question(first: Investigation, second: Investigation) -> bool:
    """Whether two investigations differ in wording only. They are compared as JSON, because a summary stores JSON."""
    return first.model_dump(mode="json", exclude=WORDS) == second.model_dump(mode="json", exclude=WORDS)


def pairs_done(summary: Summary) -> int:
    """Return the number of completely measured pairs, valid or not."""
    last = summary.investigation.session.looks[-1]
    names_by_pair: dict[int, list[str]] = {}
    for scheduled in schedule(summary.investigation, last):
        names_by_pair.setdefault(scheduled.pair, []).append(scheduled.name)
    return sum(all(name in summary.done for name in names) for names in names_by_pair.values())


def _pairs(summary: Summary, judgement: Judgement) -> Iterator[Caveat]:
    looks, done = summary.investigation.session.looks, pairs_done(summary)
    # If time decides when a session stops, results cannot influence it.
    may_stop_anytime = summary.investigation.session.always_valid or summary.investigation.session.seconds is not None
    if done not in looks and not may_stop_anytime:
        declared = ", ".join(map(str, looks))
        yield Caveat(
            "no-look", f"The session was judged after {counted(done, 'pair')}, but {declared} were declared beforehand."
        )
    for comparison in judgement.comparisons:
        valid, dropped = _valid(summary, comparison)
        if valid < LEAST_PAIRS:
            less = f", {dropped} more {'is' if dropped == 1 else 'are'} invalid" if dropped else ""
            counts = f"{counted(valid, 'valid pair')}; at least {LEAST_PAIRS} are needed{less}"
            yield Caveat("few-pairs", f"{comparison.candidate} against {comparison.baseline}: {counts}.")


def _design(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    functions = {name for name, arm in summary.investigation.arms.items() if arm.subject is Kind.FUNCTION}
    pairs = [runs for runs in summary.done.values() if len(runs) > 1 and runs[0].arm not in functions]
    apart = sum(all(run.cores for run in runs) for runs in pairs)
    if summary.investigation.session.design is Design.DUETS and apart < len(pairs):
        share = f"{len(pairs) - apart} of {len(pairs)} pairs ran one after the other instead of at the same time"
        yield Caveat(
            "no-duets", f"{share}, because there was no core for each arm, or no way to pin processes to cores."
        )


def _runs(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    for name, runs in sorted(summary.done.items()):
        for run in runs:
            # A cold proxy is a caveat of the warm-up.
            if why := "; ".join(reason for reason in run.limited if reason != COLD):
                pair = int(name.partition("+")[0])
                lost = "Neither run of the pair counts" if len(runs) == PAIR else "No pair with this run counts"
                yield Caveat("rig-limited", f"Pair {pair}, {run.arm}: {why}. {lost}.")
    failures: dict[str, list[float]] = {}
    for runs in summary.done.values():
        for run in runs:
            if "error_rate" in run.figures:
                failures.setdefault(run.arm, []).append(run.figures["error_rate"])
    for arm, rates in sorted(failures.items()):
        if fmean(rates) > METRICS["error_rate"].usual.size:
            sentence = (
                f"{fmean(rates) * 100:.2f} % of the requests to {arm} failed. Its latencies are those of the others."
            )
            yield Caveat("failures", sentence)


def _core_contention(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    waits = []
    for arm in (*summary.investigation.arms, AGAIN):
        runs = [run for runs in summary.done.values() for run in runs if run.arm == arm]
        waited = [run.waited for run in runs if run.waited is not None]
        if waited and fmean(waited) > CROWDED:
            waits.append(f"{arm} for {fmean(waited) * 100:.0f} %")
    if waits:
        yield Caveat(
            "crowded",
            f"The proxies waited for a core: {', '.join(waits)} of the time. The load, the mock and the servers needed "
            "the same cores, so all latencies are longer than on a larger machine.",
        )


def _warm_up(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    for process, state in summary.warm_up.items():
        if not state["steady"] and state["costs"]:
            last = state["costs"][-WINDOWS:]
            yield Caveat(
                "not-warm",
                f"The CPU time of a request still varied from {min(last):.3g} to {max(last):.3g} ms when the warm-up "
                f"of {process} ended. Runs before it had settled do not count.",
            )
    cold = [
        f"{name.partition('+')[0].lstrip('0')} of {' and '.join(arms_of(name))}"
        for name, runs in sorted(summary.done.items())
        if any(COLD in run.limited for run in runs)
    ]
    if cold:
        yield Caveat(
            "not-warm", f"These pairs do not count, because one of their proxies was not warm: {', '.join(cold)}."
        )


def _unknown_metrics(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    own = [*summary.investigation.arms, AGAIN]
    by_arm: dict[str, list[Run]] = {}
    for runs in summary.done.values():
        for run in runs:
            if not any(each.limited for each in runs):
                by_arm.setdefault(run.arm, []).append(run)
    for name in summary.investigation.figures:
        arms = [arm for arm in own if any(name not in run.figures for run in by_arm.get(arm, ()))]
        if arms:
            names = ", ".join(arms)
            yield Caveat(
                "unknown",
                f"{name} has no value in some runs of {names}, and is not judged{_quantile_hint(name)}.",
            )


def _drift(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    moved = []
    for arm, counts in counted_over_time(summary).items():
        first, second = map(median, halves(counts))
        if first and second and not 1 / STEADY <= second / first <= STEADY:
            moved.append(arm)
    if moved:
        yield Caveat(
            "unsteady",
            f"Between the first and the second half of a run, the median of {', '.join(moved)} changes by more than a "
            "fifth. This is not a steady state.",
        )


def _burst(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    if BURST_METRIC in summary.investigation.figures:
        return
    slow = int(np.searchsorted(EDGES_MS, SLOW_MS))
    arms = []
    for arm, counts in counted_over_time(summary).items():
        if arm != DIRECT and counts[0].any() and counts[1:].any():
            first, later = (part[..., slow:].sum() / part.sum() for part in (counts[0], counts[1:]))
            if first - later >= BURST_SHARE:
                arms.append(f"{arm} ({first * 100:.0f} %, later {later * 100:.1f} %)")
    if arms:
        yield Caveat(
            BURST,
            "All clients of a run begin at the same moment, and some of their first requests wait far longer than all "
            "later ones. This share of the requests in the first twentieth of a run took more than "
            f"{EDGES_MS[slow] / 1000:.1f} s: {', '.join(arms)}. Mean, p95 and above_1s include this burst, which the "
            "study `bursts` explains.",
        )


def _quantile_hint(name: str) -> str:
    """Return how many requests a quantile needs, or an empty text for other metrics."""
    digits = name.rpartition("p")[2]
    if not digits.replace(".", "").isdigit():
        return ""
    beyond = 1 - float(digits) / 100
    return f": a quantile needs {LEAST_BEYOND} requests beyond it, so {LEAST_BEYOND / beyond:,.0f} in a run"


def _permutation_test(summary: Summary, judgement: Judgement) -> Iterator[Caveat]:
    alpha = alpha_per_look(summary.investigation.session.looks)
    for comparison in judgement.comparisons:
        for compared in comparison.figures:
            if compared.verdict is None or compared.p_permutation is None or comparison.candidate == AGAIN:
                continue
            # With few pairs there are too few permutations to reach a p-value of `alpha`.
            can_tell = 2.0 ** (1 - compared.verdict.pairs) <= alpha
            if can_tell and compared.verdict.kind.is_real and compared.p_permutation > alpha:
                arms = f"{comparison.candidate} against {comparison.baseline}"
                yield Caveat(
                    "second-opinion",
                    f"{compared.metric.name} of {arms} is {compared.verdict.kind}, but a permutation test does not "
                    f"confirm it (p = {compared.p_permutation:.3f}).",
                )


def _noise(summary: Summary, judgement: Judgement) -> Iterator[Caveat]:
    investigation = summary.investigation
    if not any(AGAIN in pair for pair in investigation.comparisons) and not _has_equal_arm(investigation):
        # Only proxies can be measured a second time automatically.
        is_proxy = investigation.arms[investigation.baseline].subject is Kind.PROXY
        hint = "set `session.noise`" if is_proxy else "add an arm that equals the baseline"
        yield Caveat(
            "no-noise-floor",
            f"The baseline was not measured against itself, so the size of the noise is unknown; {hint}.",
        )
    wide = [
        f"{compared.metric.name} {wording.effect(compared)}, margin {wording.margin(compared)}"
        for comparison in judgement.comparisons
        for compared in comparison.figures
        if comparison.candidate == AGAIN and compared.verdict is not None and _reaches_beyond(compared.verdict)
    ]
    if wide:
        yield Caveat("noisy", f"Two equal proxies may differ by more than the margin: {'; '.join(wide)}.")


def _has_equal_arm(investigation: Investigation) -> bool:
    """Whether another arm equals the baseline."""
    baseline = investigation.arms[investigation.baseline]
    same_about = {"about": baseline.about}
    return any(
        arm.model_copy(update=same_about) == baseline
        for name, arm in investigation.arms.items()
        if name != investigation.baseline
    )


def _reaches_beyond(verdict: Verdict) -> bool:
    return max(abs(verdict.low), abs(verdict.high)) > verdict.margin


def _provenance(summary: Summary, _: Judgement) -> Iterator[Caveat]:
    provenance = summary.provenance
    if not provenance.get("commit"):
        yield Caveat("no-commit", "The commit of the measurement is not known.")
    changes = provenance.get("later", [])
    if any(change.get("dirty") for change in (provenance, *changes)):
        yield Caveat("dirty", "There were uncommitted changes during the measurement.")
    if changes:
        names = ", ".join(sorted({text(name.replace("_", " ")) for change in changes for name in change}))
        yield Caveat("resumed", f"The session was interrupted, and these changed before it was resumed: {names}.")
    if provenance.get("engine") == STAND_IN:
        yield Caveat(
            "stand-in",
            "LiteLLM's database client used a stand-in for Prisma's engine, which takes about a millisecond of CPU "
            "more for each query. The number of queries is right, their cost is too high.",
        )


def _valid(summary: Summary, comparison: Comparison) -> tuple[int, int]:
    last = summary.investigation.session.looks[-1]
    valid, dropped = paired(summary.investigation, summary.done, last, comparison.baseline, comparison.candidate)
    return len(valid), len(dropped)
