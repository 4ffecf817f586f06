"""The probability that a release is the first one with a change, given the effects of boots.

Two boots of one release differ: mostly by a few per cent of CPU time, and now and then by ten. So the effect in a boot
is the release's effect plus an error whose distribution has heavy tails. The size of the change and the spread of the
errors are unknown: all values of a grid are considered, each with the weight that the boots give it.
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
LARGEST_CHANGE, CHANGES = 4.0, 32
SPREADS = np.geomspace(0.005, 0.3, 10)
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
        sizes = np.geomspace(margin, max(LARGEST_CHANGE, 2 * margin), CHANGES)
        changes = np.concatenate([-sizes, sizes])
        with_change = [_log_likelihood(effects.get(release, ()), changes) for release in releases]
        without = [_log_likelihood(effects.get(release, ()), np.zeros_like(changes)) for release in releases]
        weights = [
            logsumexp(
                sum(without[:first], np.zeros(1)) + sum(with_change[first:], np.zeros((len(changes), len(SPREADS))))
            )
            for first in range(len(releases) + 1)
        ]
        prior = np.array([(1 - NO_CHANGE) / len(releases)] * len(releases) + [NO_CHANGE])
        *first_bad, no_change = softmax(np.array(weights) + np.log(prior)).tolist()
        return cls(releases, first_bad, no_change)

    @property
    def answer(self) -> str:
        """The most probable first release with the change; empty if it is more probable that there is none."""
        most = max(range(len(self.releases)), key=lambda at: self.first_bad[at])
        return self.releases[most] if self.first_bad[most] > self.no_change else ""

    @property
    def probability(self) -> float:
        """The probability of the answer."""
        return max(*self.first_bad, self.no_change)

    def has_change(self, release: str) -> float:
        """Return the probability that a release has the change."""
        return sum(self.first_bad[: self.releases.index(release) + 1])

    @property
    def least_certain(self) -> str:
        """The release of which it is least certain whether it has the change; the last one of several."""
        return min(reversed(self.releases), key=lambda release: abs(self.has_change(release) - 0.5))


def _log_likelihood(effects: Sequence[float], true_effects: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how well each true effect and spread explains the effects in boots."""
    errors = np.asarray(effects, dtype=float).reshape(-1, 1, 1) - true_effects[:, None]
    densities = student_t.logpdf(errors / SPREADS, DEGREES_OF_FREEDOM) - np.log(SPREADS)
    return np.asarray(densities.sum(axis=0))
