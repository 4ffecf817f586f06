"""Comparison of a release with the good one: both are booted and measured together, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.bisection.boots import BootEffects
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
# Two boots differ by far more than two runs of one boot. Many boots, each with one short run, are the best use of time.
PAIRS_PER_BOOT = 1
MOST_BOOTS = 60
"""Boots of a release in one search."""
# Seconds of the warm-up, which is one window, and of a boot of two proxies with its warm-up.
WARM_UP, BOOT_SECONDS = 20.0, 50.0
# Any variation within the warm-up: it has only one window.
SETTLED = 1.0


def random_arrivals(rate: float, seconds: float) -> Mapping[str, Any]:
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
    plan: Plan,
    release: str,
    is_enough: Callable[[BootEffects], bool],
    *,
    is_late: Callable[[], bool],
    steps: Steps,
    listener: ProgressListener,
) -> BootEffects:
    """Boot a release beside the good one until `is_enough` is true of all boots, or `is_late`. Return their effects.

    Boots of an earlier comparison in the same folder count too.
    """
    wanted = plan.investigation(release)

    def is_over(done: Mapping[str, list[Run]]) -> bool:
        return is_late() or is_enough(boot_effects(wanted, done))

    store = Store(plan.folder_of(release))
    with store.claimed():
        # An event for each session, because a session sets it at its end.
        session = Session(release, wanted, store, Options(), steps, listener, Event(), is_enough=is_over)
        await session.conduct()
        return boot_effects(wanted, store.done())


def boot_effects(wanted: Investigation, done: Mapping[str, list[Run]]) -> BootEffects:
    """Return the effect in each boot. A boot without a valid pair has none."""
    (comparison,) = judge_session(wanted, done, len(done)).comparisons
    compared = next((each for each in comparison.figures if each.primary), None)
    if compared is None:
        return BootEffects([], wanted.margins[wanted.primary].scale)
    differences = compared.margin.differences(compared.baseline, compared.candidate)
    return BootEffects([compared.margin.effect(each) for each in differences], compared.margin.scale)
