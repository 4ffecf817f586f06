"""One comparison of a bisection: a session of pairs of two releases, which ends at the first look that settles it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import ScheduleMissed
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.results.store import Store, digest
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.stats import LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.session import ProgressListener
    from evenkeel_lab.stats.compare import Compared

GOOD, CANDIDATE = "good", "candidate"
# Seconds of each window of the warm-up, of two boots and their warm-up, and between the runs of two pairs.
WARM_UP, BOOT_SECONDS, PAUSE_SECONDS = 8.0, 100.0, 7.0


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
    begun: dict[str, int] = field(default_factory=dict)
    """The number of times that each comparison has begun in this search."""

    @property
    def least_seconds(self) -> float:
        """Seconds of a comparison with the fewest pairs that reach a verdict."""
        return BOOT_SECONDS + LEAST_PAIRS * (float(self.load["duration"]) + PAUSE_SECONDS)

    def folder_of(self, release: str, margin: float) -> Path:
        """Return the folder of a comparison's session. A repetition has another one."""
        # The time that is left differs when a search is resumed, and is no part of what is measured.
        name = f"{release}-{digest(self.investigation(release, margin, None))}"
        self.begun[name] = self.begun.get(name, 0) + 1
        return self.folder / (name if self.begun[name] == 1 else f"{name}-{self.begun[name]}")

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
                    "looks": looks(self.pairs),
                    "noise": False,
                    "seconds": seconds,
                    "warm_up": WARM_UP,
                },
                "figures": {self.figure: {"margin": margin, "primary": True}},
            }
        )


def looks(pairs: int) -> list[int]:
    """Return the numbers of pairs after which a comparison of up to `pairs` pairs is judged.

    These intervals are about a quarter narrower than always-valid ones.
    """
    return sorted({max(pairs * third // 3, LEAST_PAIRS) for third in (1, 2, 3)})


async def compare_releases(
    plan: Plan, release: str, margin: float, seconds: float | None, *, steps: Steps, listener: ProgressListener
) -> Compared | None:
    """Compare a release with the good one, for up to `seconds`.

    Return `None` if the metric has no value. Raise `ScheduleMissed` if too many pairs are invalid.
    """
    wanted = plan.investigation(release, margin, seconds)
    store = Store(plan.folder_of(release, margin))
    with store.claimed():
        # An event for each session, because a session sets it at its end.
        judgement = await Session(release, wanted, store, Options(), steps, listener, Event()).conduct()
    if judgement.invalid:
        raise ScheduleMissed(
            f"{release} against {plan.good}: {judgement.invalid[0]}.",
            hint="Stop other programs on this machine, and search again with --fresh.",
        )
    (comparison,) = judgement.comparisons
    return next((compared for compared in comparison.figures if compared.primary), None)
