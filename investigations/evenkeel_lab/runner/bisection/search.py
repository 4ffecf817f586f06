"""Binary search among releases for the first one with a change, when each comparison is uncertain.

The good release is compared with the bad one first, which tells how large the change is. Each further release is
compared with the good one. It counts as bad if it differs by at least half of the change, in the same direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from evenkeel_lab.runner.bisection.boots import are_unanimous, direction

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel_lab.runner.bisection.boots import BootEffects


class Outcome(StrEnum):
    """Outcome of a step: on which end of the change a release is."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"
    """It could not be measured."""


@dataclass(frozen=True)
class Step:
    """One comparison of a release with the good one."""

    release: str
    outcome: Outcome
    effects: BootEffects | None
    """`None` if the release could not be measured."""
    is_certain: bool = True
    """Whether all boots agreed."""


@dataclass(frozen=True)
class Result:
    """Result of a search."""

    whole: BootEffects | None
    """The effects of the bad release; `None` if it could not be measured."""
    steps: Sequence[Step] = field(default=())
    last_good: str = ""
    first_bad: str = ""
    """Empty if no change was found between the good and the bad release."""
    skipped: Sequence[str] = ()
    """The releases between `last_good` and `first_bad`, which could not be measured."""

    @property
    def is_certain(self) -> bool:
        """Whether all steps were."""
        return all(step.is_certain for step in self.steps)


async def search(
    releases: Sequence[str], measure: Callable[[str, float], Awaitable[BootEffects | None]], margin: float
) -> Result:
    """Search `releases`, the good one first and the bad one last, for the first one with the change.

    `measure` compares a release with the good one, until it is known whether the effect is beyond a threshold. It
    returns `None` if the release cannot be measured. A change smaller than `margin` is none.
    """
    good, *between, bad = releases
    whole = await measure(bad, margin)
    if whole is None or not (sign := whole.direction(margin)):
        return Result(whole)
    change = median(effect for effect in whole.effects if direction(effect, margin) == sign)
    steps: list[Step] = []
    last_good, first_bad = good, bad
    while between:
        release = between[len(between) // 2]
        step = _step(release, await measure(release, abs(change) / 2), change)
        steps.append(step)
        at = between.index(release)
        if step.outcome is Outcome.SKIPPED:
            between.remove(release)
        elif step.outcome is Outcome.BAD:
            first_bad, between = release, between[:at]
        else:
            last_good, between = release, between[at + 1 :]
    skipped = releases[releases.index(last_good) + 1 : releases.index(first_bad)]
    return Result(whole, steps, last_good, first_bad, skipped)


def _step(release: str, effects: BootEffects | None, change: float) -> Step:
    if effects is None:
        return Step(release, Outcome.SKIPPED, effects)
    half = abs(change) / 2
    is_bad = effects.direction(half) == direction(change, half)
    return Step(release, Outcome.BAD if is_bad else Outcome.GOOD, effects, are_unanimous(effects.effects, half))
