"""Search among releases for the first one with a change, when the effect in each boot of a release is uncertain.

The release of which it is least certain whether it has the change is measured next: the bad one first, then one in the
middle, and so on. A binary search does the same, but cannot correct a wrong step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from evenkeel_lab.runner.bisection.belief import Belief

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from evenkeel_lab.runner.bisection.boots import BootEffects

    Measure = Callable[[str, Callable[[BootEffects], bool]], Awaitable[BootEffects | None]]

CERTAINTY = 0.97
"""The probability at which a search ends."""
# A single boot proves nothing: the releases on which an answer depends need this many each.
LEAST_BOOTS = 3


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


@dataclass
class _Search:
    """A search that goes on."""

    candidates: Sequence[str]
    margin: float
    certainty: float
    effects: dict[str, BootEffects]
    broken: set[str] = field(default_factory=set)
    """Releases that cannot be measured."""
    exhausted: set[str] = field(default_factory=set)
    """Releases of which there are no further boots."""

    def belief(self) -> Belief:
        """Return the probabilities, given all boots so far."""
        measurable = [release for release in self.candidates if release not in self.broken]
        return Belief.of(measurable, {name: boots.effects for name, boots in self.effects.items()}, self.margin)

    def with_boots(self, release: str, boots: BootEffects) -> _Search:
        """Return this search with further boots of a release."""
        return replace(self, effects={**self.effects, release: boots})

    def next_release(self) -> str | None:
        """Return the release to be booted next; `None` if the answer is certain, or if there are no further boots."""
        belief = self.belief()
        is_probable = belief.probability >= self.certainty
        wanted = self._lacking_boots(belief) if is_probable else belief.least_certain_first
        return next((release for release in wanted if release not in self.exhausted), None)

    def is_certain(self) -> bool:
        """Return whether the answer is as probable as was wanted, and does not depend on single boots."""
        belief = self.belief()
        return belief.probability >= self.certainty and not self._lacking_boots(belief)

    def _lacking_boots(self, belief: Belief) -> list[str]:
        boots = {release: len(each.effects) for release, each in self.effects.items()}
        return [release for release in _decisive(belief) if boots.get(release, 0) < LEAST_BOOTS]


async def search(
    releases: Sequence[str],
    measure: Measure,
    margin: float,
    certainty: float,
    known: Mapping[str, BootEffects] | None = None,
) -> Result:
    """Search `releases`, the good one first and the bad one last, until an answer has the probability `certainty`.

    `measure` boots a release and the good one until a function of all its boots returns true, or until there is no time
    left. It returns its effects in all boots, or `None` if the release cannot be measured. A change is at least
    `margin`. `known` are effects of boots of an earlier search.
    """
    searched = _Search(releases[1:], margin, certainty, dict(known or {}))
    while releases[-1] not in searched.broken and (release := searched.next_release()):

        def is_enough(boots: BootEffects, release: str = release) -> bool:
            return searched.with_boots(release, boots).next_release() != release

        measured = await measure(release, is_enough)
        before = searched.effects.get(release)
        if measured is None:
            searched.broken.add(release)
            searched.effects.pop(release, None)
        elif len(measured.effects) > (len(before.effects) if before else 0):
            searched.effects[release] = measured
        else:
            searched.exhausted.add(release)
    return _result(releases, searched)


def _result(releases: Sequence[str], searched: _Search) -> Result:
    if releases[-1] in searched.broken:
        return Result(None)
    belief = searched.belief()
    if not belief.answer:
        return Result(belief, searched.is_certain(), searched.effects)
    last_good = _before(belief, belief.answer) or releases[0]
    skipped = releases[releases.index(last_good) + 1 : releases.index(belief.answer)]
    return Result(belief, searched.is_certain(), searched.effects, last_good, belief.answer, skipped)


def _decisive(belief: Belief) -> list[str]:
    """Return the releases on which the answer depends: those beside the change, or the bad one if there is none."""
    if not belief.answer:
        return [belief.releases[-1]]
    return [release for release in (belief.answer, _before(belief, belief.answer)) if release]


def _before(belief: Belief, release: str) -> str:
    """Return the release before another one; empty if that is the good one."""
    at = belief.releases.index(release)
    return belief.releases[at - 1] if at else ""
