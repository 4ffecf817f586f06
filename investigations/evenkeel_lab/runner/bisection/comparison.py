"""Comparison of a release with the good one: both are booted and measured together, until enough boots agree."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.bisection.boots import BootEffects, agreed
from evenkeel_lab.runner.results.analysis import judge_session
from evenkeel_lab.runner.results.store import Store, digest
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.stats.metrics import metric_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.session import ProgressListener

GOOD, CANDIDATE = "good", "candidate"
PAIRS_PER_BOOT = 2
# Seconds of each window of the warm-up, of a boot of two proxies with its warm-up, and between the runs of two pairs.
WARM_UP, BOOT_SECONDS, PAUSE_SECONDS = 8.0, 100.0, 7.0


@dataclass(frozen=True)
class Plan:
    """Common part of all comparisons of a bisection."""

    good: str
    figure: str
    load: Mapping[str, Any]
    boots: int
    """The number of boots that have to agree."""
    folder: Path
    """The folder of the sessions, which are resumed if they were stopped."""
    arm_of: Callable[[str], Mapping[str, Any]]
    """Returns the fields of the arm of a release."""

    @property
    def most_boots(self) -> int:
        """The maximum number of boots of a comparison: with three directions, some number of them agrees by then."""
        return 3 * self.boots

    @property
    def boot_seconds(self) -> float:
        """Seconds of a boot and its pairs."""
        return BOOT_SECONDS + PAIRS_PER_BOOT * (float(self.load["duration"]) + PAUSE_SECONDS)

    def folder_of(self, release: str) -> Path:
        """Return the folder of a comparison's session."""
        return self.folder / f"{release}-{digest(self.investigation(release))}"

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
                "session": {
                    "looks": [self.most_boots * PAIRS_PER_BOOT],
                    "pairs_per_boot": PAIRS_PER_BOOT,
                    "noise": False,
                    "warm_up": WARM_UP,
                },
                "figures": {self.figure: {"margin": metric_named(self.figure).usual.size, "primary": True}},
            }
        )


async def compare_releases(
    plan: Plan,
    release: str,
    threshold: float,
    *,
    is_late: Callable[[], bool],
    steps: Steps,
    listener: ProgressListener,
) -> BootEffects | None:
    """Compare a release with the good one, until boots agree whether the effect is beyond `threshold`.

    Return `None` if they do not: too many were invalid, the metric has no value, or `is_late` returned true.
    """
    wanted = plan.investigation(release)

    def is_enough(done: Mapping[str, list[Run]]) -> bool:
        has_agreed = agreed(boot_effects(wanted, done).effects, threshold, plan.boots) is not None
        return has_agreed or (len(done) % PAIRS_PER_BOOT == 0 and is_late())

    store = Store(plan.folder_of(release))
    with store.claimed():
        # An event for each session, because a session sets it at its end.
        session = Session(release, wanted, store, Options(), steps, listener, Event(), is_enough=is_enough)
        await session.conduct()
        effects = boot_effects(wanted, store.done())
    return effects if agreed(effects.effects, threshold, plan.boots) is not None else None


def boot_effects(wanted: Investigation, done: Mapping[str, list[Run]]) -> BootEffects:
    """Return the effect in each boot whose pairs are all done. A boot without a valid pair has none."""
    whole_boots = len(done) // PAIRS_PER_BOOT
    (comparison,) = judge_session(wanted, done, whole_boots * PAIRS_PER_BOOT).comparisons
    compared = next((each for each in comparison.figures if each.primary), None)
    if compared is None:
        return BootEffects([], wanted.margins[wanted.primary].scale)
    differences = compared.margin.differences(compared.baseline, compared.candidate)
    return BootEffects([compared.margin.effect(each) for each in differences], compared.margin.scale)
