"""Every doubt about a session, by name: whoever reads a report sees what may be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from evenkeel_lab.formatting import counted
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.investigation import AGAIN, Design
from evenkeel_lab.report.markdown import text
from evenkeel_lab.report.plot_data import counted_over_time, halves, median
from evenkeel_lab.runner.measurement.latency_summary import SURE
from evenkeel_lab.runner.results.analysis import paired
from evenkeel_lab.runner.results.store import BELIEVED, WORDS as ALL_WORDS
from evenkeel_lab.runner.schedule import arms_of, schedule
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
# What may be said otherwise, and is still the same question; not what was believed, nor what others claim.
WORDS = {name: part for name, part in ALL_WORDS.items() if name not in BELIEVED}
# From which share of its time on a proxy that has to wait for a core is worth a word.
CROWDED = 0.2
STEADY = 1.2


@dataclass(frozen=True)
class Doubt:
    """One of them."""

    name: str
    says: str

    @classmethod
    def of(cls, text: str) -> Doubt:
        """Read what was written as `name: sentence`."""
        name, _, says = text.partition(": ")
        return cls(name, f"{says}.")


def doubts(summary: Summary, judgement: Judgement, present: Investigation | None) -> list[Doubt]:
    """Return all doubts, the gravest first; `present` is what the session's file asks for today."""
    found = list(map(Doubt.of, judgement.invalid))
    if present is not None and not same(present, summary.investigation):
        found.append(Doubt("changed", "The file has been changed since this was measured."))
    for kind in (_pairs, _design, _runs, _crowd, _warm_up, _figures, _steadiness, _second_opinion, _noise, _provenance):
        found += kind(summary, judgement)
    return found


def same(one: Investigation, other: Investigation) -> bool:
    """Whether two files ask for the same, in whatever words: as JSON says it, which is how a summary keeps it."""
    return one.model_dump(mode="json", exclude=WORDS) == other.model_dump(mode="json", exclude=WORDS)


def pairs_done(summary: Summary) -> int:
    """Return how many pairs have been measured in full, valid or not."""
    last = summary.investigation.session.looks[-1]
    wanted: dict[int, list[str]] = {}
    for meeting in schedule(summary.investigation, last):
        wanted.setdefault(meeting.pair, []).append(meeting.name)
    return sum(all(name in summary.done for name in names) for names in wanted.values())


def _pairs(summary: Summary, judgement: Judgement) -> Iterator[Doubt]:
    looks, done = summary.investigation.session.looks, pairs_done(summary)
    # A clock knows nothing of what was found.
    if done not in looks and summary.investigation.session.seconds is None:
        declared = ", ".join(map(str, looks))
        yield Doubt(
            "no-look", f"The session was judged after {counted(done, 'pair')}; declared beforehand: {declared}."
        )
    for one in judgement.comparisons:
        valid, dropped = _valid(summary, one)
        if valid < LEAST_PAIRS:
            less = f", {dropped} more {'is' if dropped == 1 else 'are'} invalid" if dropped else ""
            told = f"{counted(valid, 'valid pair')}, of at least {LEAST_PAIRS}{less}"
            yield Doubt("few-pairs", f"{one.candidate} against {one.baseline}: {told}.")


def _design(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    pairs = [runs for runs in summary.done.values() if len(runs) > 1 and "value" not in runs[0].figures]
    apart = sum(all(run.cores for run in runs) for runs in pairs)
    if summary.investigation.session.design is Design.DUETS and apart < len(pairs):
        told = f"{len(pairs) - apart} of {len(pairs)} pairs were no duets, but ran one after the other"
        yield Doubt("no-duets", f"{told}: there was no core for each arm, or no way to pin it to one.")


def _runs(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    for name, runs in sorted(summary.done.items()):
        for run in runs:
            # Of what had not settled, its warm-up tells.
            if why := "; ".join(one for one in run.limited if one != COLD):
                pair = int(name.partition("+")[0])
                yield Doubt("rig-limited", f"Pair {pair}, {run.arm}: {why}. Neither run of the pair counts.")
    failures: dict[str, list[float]] = {}
    for runs in summary.done.values():
        for run in runs:
            if "error_rate" in run.figures:
                failures.setdefault(run.arm, []).append(run.figures["error_rate"])
    for arm, rates in sorted(failures.items()):
        if fmean(rates) > METRICS["error_rate"].usual.size:
            told = f"{fmean(rates) * 100:.2f} % of the requests to {arm} failed; its latencies are those of the others."
            yield Doubt("failures", told)


def _crowd(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    told = []
    for arm in (*summary.investigation.arms, AGAIN):
        runs = [run for runs in summary.done.values() for run in runs if run.arm == arm]
        waited = [run.waited for run in runs if run.waited is not None]
        if waited and fmean(waited) > CROWDED:
            told.append(f"{arm} for {fmean(waited) * 100:.0f} %")
    if told:
        yield Doubt(
            "crowded",
            f"The proxies stood in line for a core: {', '.join(told)} of the time. The load, the mock and the servers "
            "needed the same cores, so latencies are longer than on a larger machine, for all arms alike.",
        )


def _warm_up(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    for process, told in summary.warm_up.items():
        if not told["steady"] and told["costs"]:
            last = told["costs"][-WINDOWS:]
            yield Doubt(
                "not-warm",
                f"What a request cost {process} still varied, from {min(last):.3g} to {max(last):.3g} ms of CPU time, "
                "when its warm-up ended. It went on in its runs, of which none counts before it had settled.",
            )
    cold = [
        f"{name.partition('+')[0].lstrip('0')} of {' and '.join(arms_of(name))}"
        for name, runs in sorted(summary.done.items())
        if any(COLD in run.limited for run in runs)
    ]
    if cold:
        yield Doubt(
            "not-warm", f"These pairs do not count, as one of their proxies was not warm yet: {', '.join(cold)}."
        )


def _figures(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    own = [*summary.investigation.arms, AGAIN]
    by_arm: dict[str, list[Run]] = {}
    for runs in summary.done.values():
        for run in runs:
            if not any(one.limited for one in runs):
                by_arm.setdefault(run.arm, []).append(run)
    for name in summary.investigation.figures:
        arms = [arm for arm in own if any(name not in run.figures for run in by_arm.get(arm, ()))]
        if arms:
            who = ", ".join(arms)
            yield Doubt("untold", f"{name} cannot be told in every run of {who}, and is not judged there{_why(name)}.")


def _steadiness(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    moved = []
    for arm, counts in counted_over_time(summary).items():
        first, second = map(median, halves(counts))
        if first and second and not 1 / STEADY <= second / first <= STEADY:
            moved.append(arm)
    if moved:
        yield Doubt(
            "unsteady",
            f"From the first half of a run to the second the median of {', '.join(moved)} changes by more than a "
            "fifth: a mean over both is of no steady state.",
        )


def _why(name: str) -> str:
    """Say why a quantile may be refused."""
    digits = name.rpartition("p")[2]
    if not digits.replace(".", "").isdigit():
        return ""
    beyond = 1 - float(digits) / 100
    return f": a quantile needs {SURE} requests beyond it, that is {SURE / beyond:,.0f} in a run"


def _second_opinion(summary: Summary, judgement: Judgement) -> Iterator[Doubt]:
    alpha = alpha_per_look(summary.investigation.session.looks)
    for one in judgement.comparisons:
        for found in one.figures:
            if found.verdict is None or found.p_permutation is None or one.candidate == AGAIN:
                continue
            # So few pairs have too few orders for the test to be sure of anything.
            can_tell = 2.0 ** (1 - found.verdict.pairs) <= alpha
            if can_tell and found.verdict.kind.is_real and found.p_permutation > alpha:
                yield Doubt(
                    "second-opinion",
                    f"{found.metric.name} of {one.candidate} against {one.baseline} is {found.verdict.kind}, but a "
                    f"permutation test does not confirm that it differs (p = {found.p_permutation:.3f}).",
                )


def _noise(summary: Summary, judgement: Judgement) -> Iterator[Doubt]:
    asked = summary.investigation
    if not any(AGAIN in pair for pair in asked.comparisons) and not _has_twin(asked):
        # The engine has a second one of proxies only.
        is_proxy = asked.arms[asked.baseline].subject is Kind.PROXY
        hint = "`session.noise` measures it" if is_proxy else "an arm that is the same as the baseline would tell"
        yield Doubt(
            "no-noise-floor", f"The baseline was not measured against itself: how large noise is, is not known; {hint}."
        )
    wide = [
        f"{found.metric.name} {wording.effect(found)}, margin {wording.margin(found)}"
        for one in judgement.comparisons
        for found in one.figures
        if one.candidate == AGAIN and found.verdict is not None and _reaches_beyond(found.verdict)
    ]
    if wide:
        yield Doubt("noisy", f"Two proxies that are the same may differ by more than a margin in {'; '.join(wide)}.")


def _has_twin(asked: Investigation) -> bool:
    """Whether one of the arms is the baseline under another name."""
    baseline = asked.arms[asked.baseline]
    same_about = {"about": baseline.about}
    return any(
        arm.model_copy(update=same_about) == baseline for name, arm in asked.arms.items() if name != asked.baseline
    )


def _reaches_beyond(found: Verdict) -> bool:
    return max(abs(found.low), abs(found.high)) > found.margin


def _provenance(summary: Summary, _: Judgement) -> Iterator[Doubt]:
    told = summary.provenance
    if not told.get("commit"):
        yield Doubt("no-commit", "The commit that this was measured with is not known.")
    changes = told.get("later", [])
    if any(one.get("dirty") for one in (told, *changes)):
        yield Doubt("dirty", "There were changes beside the commit that this was measured with.")
    if changes:
        others = ", ".join(sorted({text(name.replace("_", " ")) for one in changes for name in one}))
        yield Doubt("resumed", f"This was stopped and went on with something else than it began with: {others}.")
    if told.get("engine") == STAND_IN:
        yield Doubt(
            "stand-in",
            "LiteLLM's database client spoke to Postgres through a stand-in for Prisma's native engine, a process of "
            "its own that takes about a millisecond of CPU more for each query: what a query costs is told too high "
            "here, how many there are is not.",
        )


def _valid(summary: Summary, one: Comparison) -> tuple[int, int]:
    last = summary.investigation.session.looks[-1]
    valid, dropped = paired(summary.investigation, summary.done, last, one.baseline, one.candidate)
    return len(valid), len(dropped)
