"""The probability that a release is the first one with a change, given the effects of boots.

Two boots of one release differ: mostly by a few per cent of CPU time, and now and then by ten. So the effect in a boot
is the release's effect plus an error whose distribution has heavy tails. The size of the change and the spread of the
errors are unknown: all values of a grid are considered, each with the weight that the boots give it.

There is one change of at least the margin, or none at all. A change of less than half the margin is rather none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import t as student_t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

# The probability that there is no change, before anything is measured. All releases share the rest equally.
NO_CHANGE = 0.5
DEGREES_OF_FREEDOM = 3
# The sizes of a change, as shares of the good release's value, or as points of 1. Small changes are more frequent.
SIZES, LARGEST_INCREASE, LARGEST_DECREASE = 24, 4.0, 0.95
SPREADS = np.geomspace(0.005, 1.0, 12)
"""Possible spreads of the errors, as shares of the good release's value, or points."""


@dataclass(frozen=True)
class Belief:
    """Probabilities of the first release with the change."""

    releases: Sequence[str]
    """Those that can be measured, in their order, without the good one."""
    first_bad: Sequence[float]
    """For each release, the probability that it is the first one with the change."""
    no_change: float

    @classmethod
    def of(cls, releases: Sequence[str], effects: Mapping[str, Sequence[float]], margin: float) -> Belief:
        """Return the probabilities, given the effects in the boots of each release. A change is at least `margin`."""
        changes, weights = _changes(margin)
        with_change = [_log_likelihood(effects.get(release, ()), changes) for release in releases]
        without = [_log_likelihood(effects.get(release, ()), np.zeros(1)) for release in releases]
        prior = np.log(weights)[:, None] - np.log(len(SPREADS))
        log_weights = [
            logsumexp(sum(without[:first], np.zeros((1, 1))) + sum(with_change[first:], prior))
            for first in range(len(releases) + 1)
        ]
        of_positions = np.log([(1 - NO_CHANGE) / len(releases)] * len(releases) + [NO_CHANGE])
        *first_bad, no_change = softmax(np.array(log_weights) + of_positions).tolist()
        return cls(releases, first_bad, no_change)

    @property
    def change(self) -> float:
        """The probability that there is a change."""
        return sum(self.first_bad)

    @property
    def answer(self) -> str:
        """The most probable first release with the change; empty if it is more probable that there is no change."""
        most = max(range(len(self.releases)), key=lambda at: self.first_bad[at])
        return self.releases[most] if self.change > self.no_change else ""

    @property
    def probability(self) -> float:
        """The probability of the answer."""
        return max(self.first_bad) if self.answer else self.no_change

    def has_change(self, release: str) -> float:
        """Return the probability that a release has the change."""
        return sum(self.first_bad[: self.releases.index(release) + 1])

    @property
    def least_certain_first(self) -> list[str]:
        """The releases, those first of which it is least certain whether they have the change; later ones first."""
        distance = {release: abs(self.has_change(release) - 0.5) for release in self.releases}
        position = {release: at for at, release in enumerate(self.releases)}
        return sorted(distance, key=lambda release: (distance[release], -position[release]))


def _changes(margin: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return possible changes, and the probability of each before anything is measured."""
    increases = np.geomspace(margin, max(LARGEST_INCREASE, 2 * margin), SIZES)
    decreases = -np.geomspace(margin, LARGEST_DECREASE, SIZES) if margin < LARGEST_DECREASE else np.empty(0)
    changes = np.concatenate([increases, decreases])
    weights = np.abs(changes) ** -0.5
    return changes, weights / weights.sum()


def _log_likelihood(effects: Sequence[float], true_effects: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how well each true effect and spread explains the effects in boots."""
    errors = np.asarray(effects, dtype=float).reshape(-1, 1, 1) - true_effects[:, None]
    densities = student_t.logpdf(errors / SPREADS, DEGREES_OF_FREEDOM) - np.log(SPREADS)
    return np.asarray(densities.sum(axis=0))
