"""One comparison of a bisection: a session of pairs of two releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.results.store import Store, digest
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from threading import Event

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.session import ProgressListener
    from evenkeel_lab.stats.compare import Compared

GOOD, CANDIDATE = "good", "candidate"
# Seconds of each window of the warm-up.
WARM_UP = 8.0


@dataclass(frozen=True)
class Plan:
    """Common part of all comparisons of a bisection."""

    good: str
    figure: str
    load: Mapping[str, Any]
    pairs: int
    """The maximum number of pairs of a comparison."""
    folder: Path
    """The folder of the sessions, which are resumed if they were stopped."""
    arm_of: Callable[[str], Mapping[str, Any]]
    """Returns the fields of the arm of a release."""

    def investigation(self, release: str, margin: float, seconds: float | None) -> Investigation:
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
                    "looks": [self.pairs],
                    "always_valid": True,
                    "noise": False,
                    "seconds": seconds,
                    "warm_up": WARM_UP,
                },
                "figures": {self.figure: {"margin": margin, "primary": True}},
            }
        )


async def compare_releases(
    plan: Plan,
    release: str,
    margin: float,
    seconds: float | None,
    *,
    steps: Steps,
    listener: ProgressListener,
    stop: Event,
) -> Compared | None:
    """Compare a release with the good one, for up to `seconds`. Return `None` if the metric has no value."""
    wanted = plan.investigation(release, margin, seconds)
    # The time that is left differs when a search is resumed, and is no part of what is measured.
    store = Store(plan.folder / f"{release}-{digest(plan.investigation(release, margin, None))}")
    with store.claimed():
        judgement = await Session(release, wanted, store, Options(), steps, listener, stop).conduct()
    (comparison,) = judgement.comparisons
    return next((compared for compared in comparison.figures if compared.primary), None)
