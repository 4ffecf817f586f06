"""Search among releases for the first one with a change, when the effect in each boot of a release is uncertain.

The release of which it is least certain whether it has the change is measured next: the bad one first, then one in the
middle, and so on. A binary search does the same, but cannot correct a wrong step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel_lab.runner.bisection.belief import Belief
from evenkeel_lab.runner.bisection.boots import BootEffects

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    Measure = Callable[[str, Callable[[BootEffects], bool]], Awaitable[BootEffects | None]]

# A single boot proves nothing, however large its effect.
LEAST_BOOTS = 2


@dataclass(frozen=True)
class Result:
    """Result of a search."""

    belief: Belief | None
    """The probabilities at its end; `None` if the bad release could not be measured."""
    is_certain: bool = False
    """Whether the answer is as probable as was wanted."""
    effects: Mapping[str, BootEffects] = field(default_factory=dict)
    """The effects of each release that was measured."""
    last_good: str = ""
    first_bad: str = ""
    """Empty if it is more probable that there is no change."""
    skipped: Sequence[str] = ()
    """The releases between `last_good` and `first_bad`, which could not be measured."""


async def search(releases: Sequence[str], measure: Measure, margin: float, certainty: float) -> Result:
    """Search `releases`, the good one first and the bad one last, until an answer has the probability `certainty`.

    `measure` boots a release and the good one until a function of all its boots returns true, or until there is no time
    left. It returns its effects in all boots, or `None` if the release cannot be measured. A change smaller than
    `margin` is none.
    """
    good, *candidates = releases
    effects: dict[str, BootEffects] = {}
    broken: set[str] = set()

    def believe(further: Mapping[str, BootEffects]) -> Belief:
        measurable = [release for release in candidates if release not in broken]
        return Belief.of(measurable, {name: boots.effects for name, boots in {**effects, **further}.items()}, margin)

    def is_certain(belief: Belief, further: Mapping[str, BootEffects]) -> bool:
        boots = sum(len(each.effects) for each in {**effects, **further}.values())
        return boots >= LEAST_BOOTS and belief.probability >= certainty

    while candidates[-1] not in broken:
        belief = believe({})
        if is_certain(belief, {}):
            break
        release = belief.least_certain

        def is_enough(boots: BootEffects, release: str = release) -> bool:
            later = believe({release: boots})
            return is_certain(later, {release: boots}) or later.least_certain != release

        measured = await measure(release, is_enough)
        if measured is None:
            broken.add(release)
            effects.pop(release, None)
        elif len(measured.effects) == len(effects.get(release, BootEffects([], measured.scale)).effects):
            # There was no time for another boot.
            effects[release] = measured
            break
        else:
            effects[release] = measured
    if candidates[-1] in broken:
        return Result(None)
    belief = believe({})
    first_bad = belief.answer
    if not first_bad:
        return Result(belief, is_certain(belief, {}), effects)
    at = belief.releases.index(first_bad)
    last_good = belief.releases[at - 1] if at else good
    skipped = releases[releases.index(last_good) + 1 : releases.index(first_bad)]
    return Result(belief, is_certain(belief, {}), effects, last_good, first_bad, skipped)
