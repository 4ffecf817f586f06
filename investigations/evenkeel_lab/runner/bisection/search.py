"""Binary search among releases, when each comparison is uncertain.

The good release is compared with the bad one first, which tells how large the change is. Each further release is
compared with the good one. It counts as bad if the difference is more than half of the change, and as good if it is
less.

Two boots of one release may differ, and then a release seems bad by chance. So the first bad release is compared once
more, with other boots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from evenkeel_lab.stats import Kind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel_lab.stats.compare import Compared


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
    compared: Compared | None
    """`None` if the release could not be measured."""
    is_certain: bool = True
    """Whether the comparison was settled, or its interval lies on one side of half of the change.

    If not, the estimate decides.
    """


@dataclass(frozen=True)
class Result:
    """Result of a search."""

    whole: Compared | None
    """The comparison of the bad release with the good one; `None` if it could not be measured."""
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
    releases: Sequence[str], measure: Callable[[str, float, int], Awaitable[Compared | None]], margin: float
) -> Result:
    """Search `releases`, the good one first and the bad one last, for the first one with the change.

    `measure` compares a release with the good one by a margin. It also gets the number of comparisons that are left,
    this one included. It returns `None` if the release cannot be measured. A change smaller than `margin` is none.
    """
    good, *between, bad = releases
    whole = await measure(bad, margin, 2 + comparisons_left(len(between)))
    if whole is None or whole.verdict is None or not _is_change(whole):
        return Result(whole)
    change = whole.verdict.mean
    half = whole.margin.effect(abs(change) / 2)
    steps: list[Step] = []
    last_good, first_bad = good, bad
    while between:
        release = between[len(between) // 2]
        step = _step(release, await measure(release, half, 1 + comparisons_left(len(between))), change)
        steps.append(step)
        at = between.index(release)
        if step.outcome is Outcome.SKIPPED:
            between.remove(release)
        elif step.outcome is Outcome.BAD:
            first_bad, between = release, between[:at]
        else:
            last_good, between = release, between[at + 1 :]
    again = _step(first_bad, await measure(first_bad, half, 1), change)
    if again.outcome is Outcome.GOOD and again.is_certain:
        return Result(whole, [*steps, again])
    steps.append(replace(again, is_certain=again.is_certain and again.outcome is Outcome.BAD))
    skipped = releases[releases.index(last_good) + 1 : releases.index(first_bad)]
    return Result(whole, steps, last_good, first_bad, skipped)


def comparisons_left(releases: int) -> int:
    """Return the largest number of comparisons that a search among `releases` releases takes."""
    return releases.bit_length()


def _is_change(whole: Compared) -> bool:
    """Return whether there is a change, and its estimate is not smaller than the margin."""
    verdict = whole.verdict
    assert verdict is not None
    return verdict.kind in {Kind.MATERIAL, Kind.UNCERTAIN} and abs(verdict.mean) >= verdict.margin


def _step(release: str, compared: Compared | None, change: float) -> Step:
    if compared is None or compared.verdict is None:
        return Step(release, Outcome.SKIPPED, compared)
    verdict, half = compared.verdict, change / 2
    is_bad = verdict.mean > half if change > 0 else verdict.mean < half
    is_certain = verdict.kind.is_settled or not verdict.low <= half <= verdict.high
    return Step(release, Outcome.BAD if is_bad else Outcome.GOOD, compared, is_certain)
