"""The effect of a release in each of its boots."""

from __future__ import annotations

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
    invalid: Sequence[str] = ()
    """Why the boots after the last of them do not count."""

    @property
    def middle(self) -> float:
        """The median of the boots."""
        return median(self.effects)

    @property
    def text(self) -> str:
        """The median, and each boot."""
        if not self.effects:
            return "no valid boot"
        unit = "points" if self.scale is Scale.POINTS else "%"
        boots = ", ".join(f"{100 * effect:+.1f}" for effect in self.effects)
        return f"{100 * self.middle:+.1f} {unit} (boots: {boots})"
