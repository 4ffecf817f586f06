"""Comparison of a release with the good one: both are booted and measured together, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.results.store import Store, digest
from evenkeel_lab.runner.schedule import schedule
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.stats import Scale
from evenkeel_lab.stats.metrics import metric_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.schedule import ScheduledPair

GOOD, CANDIDATE = "good", "candidate"
RATE, SECONDS = 20.0, 25.0
"""Requests per second, and the duration of a run."""
# Two boots differ by far more than two runs of one boot. Many boots, each with one short run, are the best use of time.
PAIRS_PER_BOOT = 1
MOST_BOOTS = 60
"""Boots of a release in one search."""
MOST_INVALID = 5
"""Boots in a row that do not count, after which no further one is tried."""
# Seconds of the warm-up, which is one window, and of a boot of two proxies with its warm-up.
WARM_UP, BOOT_SECONDS = 12.0, 50.0
# Any variation within the warm-up: it has only one window.
SETTLED = 1.0


def random_arrivals(rate: float = RATE, seconds: float = SECONDS) -> Mapping[str, Any]:
    """Return a load of requests at random moments, which are the same for both proxies.

    Clients that wait for answers would fall into step. A proxy serves requests that come together with less CPU time
    for each, so two equal proxies would differ.
    """
    return {"arrivals": "poisson", "rate": rate, "duration": seconds}


@dataclass(frozen=True)
class Plan:
    """Common part of all comparisons of a bisection."""

    good: str
    figure: str
    load: Mapping[str, Any]
    folder: Path
    """The folder of the sessions, which are resumed if they were stopped."""
    arm_of: Callable[[str], Mapping[str, Any]]
    """Returns the fields of the arm of a release."""

    @property
    def boot_seconds(self) -> float:
        """Seconds of a boot and its run."""
        return BOOT_SECONDS + float(self.load["duration"])

    @property
    def no_effects(self) -> BootEffects:
        """The effects of a release that was never booted."""
        return BootEffects([], metric_named(self.figure).usual.scale)

    def store_of(self, release: str) -> Store:
        """Return the files of a comparison."""
        return Store(self.folder / f"{release}-{digest(self.investigation(release))}")

    def investigation(self, release: str) -> Investigation:
        """Return the investigation that compares a release with the good one."""
        return Investigation.model_validate(
            {
                "title": f"{release} against {self.good}",
                "question": f"Does {release} differ from {self.good} in {self.figure}?",
                "hypothesis": "It does, or it does not.",
                "baseline": GOOD,
                "arms": {
                    GOOD: {"about": self.good, **self.arm_of(self.good)},
                    CANDIDATE: {"about": release, **self.arm_of(release)},
                },
                "load": dict(self.load),
                "gates": {"settled": SETTLED},
                "session": {
                    "looks": [MOST_BOOTS * PAIRS_PER_BOOT],
                    "pairs_per_boot": PAIRS_PER_BOOT,
                    "noise": False,
                    "warm_up": WARM_UP,
                },
                "figures": {self.figure: {"margin": metric_named(self.figure).usual.size, "primary": True}},
            }
        )


async def compare_releases(
    plan: Plan, release: str, is_enough: Callable[[BootEffects], bool], *, is_late: Callable[[], bool], steps: Steps
) -> BootEffects:
    """Boot a release beside the good one until `is_enough` is true of all boots, or `is_late`. Return their effects.

    Boots of an earlier comparison in the same folder count too. Raise `RigFailure` if one boot after the other does not
    count.
    """
    wanted = plan.investigation(release)

    def is_over(done: Mapping[str, list[Run]]) -> bool:
        effects = boot_effects(wanted, done)
        _require_valid(release, effects)
        return is_late() or is_enough(effects)

    store = plan.store_of(release)
    with store.claimed():
        # An event for each session, because a session sets it at its end.
        session = Session(release, wanted, store, Options(), steps, _Unheard(), Event(), is_enough=is_over)
        await session.conduct()
        return boot_effects(wanted, store.done())


def known_effects(plan: Plan, releases: Sequence[str]) -> dict[str, BootEffects]:
    """Return the effects of all boots of an earlier search with the same plan, by release."""
    stores = {release: plan.store_of(release) for release in releases}
    effects = {
        release: boot_effects(plan.investigation(release), store.done())
        for release, store in stores.items()
        if store.exists
    }
    return {release: each for release, each in effects.items() if each.effects}


def boot_effects(wanted: Investigation, done: Mapping[str, list[Run]]) -> BootEffects:
    """Return the effect in each boot, and the reasons why the last boots have none."""
    margin, effects, invalid = wanted.margins[wanted.primary], [], []
    for scheduled in schedule(wanted, MOST_BOOTS * PAIRS_PER_BOOT):
        if scheduled.name not in done:
            continue
        by_arm = {run.arm: run for run in done[scheduled.name]}
        pair = [by_arm[GOOD], by_arm[CANDIDATE]]
        reasons = [reason for run in pair for reason in run.limited]
        values = [run.figures[wanted.primary] for run in pair if wanted.primary in run.figures]
        if len(values) < len(pair):
            reasons.append(f"the run is too short for {wanted.primary}, or has none")
        elif margin.scale is Scale.FACTOR and min(values) <= 0:
            reasons.append(f"{wanted.primary} is {min(values):g}, of which nothing is a multiple")
        if reasons:
            invalid.append(reasons[0])
            continue
        (difference,) = margin.differences(values[:1], values[1:])
        effects.append(margin.effect(difference))
        invalid = []
    return BootEffects(effects, margin.scale, invalid)


def _require_valid(release: str, effects: BootEffects) -> None:
    if len(effects.invalid) >= MOST_INVALID:
        raise RigFailure(
            f"The last {len(effects.invalid)} boots of {release} do not count: {effects.invalid[-1]}.",
            hint="Change --rate or --seconds, or choose another metric.",
        )


class _Unheard:
    """A listener to the progress of a session that does nothing: a search shows its own."""

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        pass
