"""The effect of a release in each of its boots, and what the boots agree on.

Two boots of the same release differ by some per cent of CPU time, and now and then by ten. So a single boot says
little, however many requests it serves: a comparison goes on until several boots say the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class BootEffects:
    """The effects of a release on a metric, one for each boot."""

    effects: Sequence[float]
    """Shares of the good release's value, or points."""
    scale: Scale

    @property
    def middle(self) -> float:
        """The median of the boots."""
        return median(self.effects)

    def direction(self, threshold: float) -> int:
        """Return the direction of most boots."""
        return Counter(direction(effect, threshold) for effect in self.effects).most_common(1)[0][0]

    @property
    def text(self) -> str:
        """The median, and each boot."""
        unit = "points" if self.scale is Scale.POINTS else "%"
        boots = ", ".join(f"{100 * effect:+.1f}" for effect in self.effects)
        return f"{100 * self.middle:+.1f} {unit} (boots: {boots})"


def direction(effect: float, threshold: float) -> int:
    """Return 1 for an effect of at least `threshold`, -1 for one as far below zero, else 0."""
    return 0 if abs(effect) < threshold else 1 if effect > 0 else -1


def agreed(effects: Sequence[float], threshold: float, boots: int) -> int | None:
    """Return the direction that at least `boots` boots have; `None` if there is none yet."""
    directions = Counter(direction(effect, threshold) for effect in effects)
    return next((each for each, number in directions.items() if number >= boots), None)


def are_unanimous(effects: Sequence[float], threshold: float) -> bool:
    """Return whether all boots have the same direction."""
    return len({direction(effect, threshold) for effect in effects}) == 1
