"""What a session does, drawn before it begins: which two arms meet when, in which order, on which cores first.

Everything comes from the session's seed, so that a session that was stopped goes on as it would have gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.investigation_spec import Investigation

# The mock alone is measured once in so many pairs: it is there to show what the rig costs, not to be judged.
DIRECT_EVERY = 6
SEEDS = 2**31


@dataclass(frozen=True)
class ScheduledPair:
    """Two arms, run as a pair; or the mock alone."""

    pair: int
    """Its number, from 1."""
    arms: tuple[str, ...]
    """In the order in which they run, or by the cores on which they begin."""
    seed: int
    """What arrivals, prompts, users and the mock's draws come from: the same for both arms, and for nobody else."""

    @property
    def name(self) -> str:
        """What its folder is called."""
        return f"{self.pair:03}+{'+'.join(sorted(self.arms))}"


def arms_of(name: str) -> list[str]:
    """Return the arms of the meeting with that name, sorted."""
    return name.split("+")[1:]


def pair_number(name: str) -> int:
    """Return of which pair the meeting with that name is."""
    return int(name.partition("+")[0])


def schedule(investigation: Investigation, pairs: int) -> Iterator[ScheduledPair]:
    """Return the scheduled pairs of the first `pairs` pairs, in the order in which they run."""
    compared = investigation.comparisons
    for pair in range(1, pairs + 1):
        source = np.random.default_rng([investigation.session.seed, pair])
        for index in source.permutation(len(compared)):
            first, second = compared[index]
            arms = (first, second) if source.integers(2) else (second, first)
            # A proxy that meets several others must not know the users of one meeting in the next.
            yield ScheduledPair(pair, arms, int(source.integers(SEEDS)))
        if AGAIN in compared[-1] and pair % DIRECT_EVERY == 1:
            yield ScheduledPair(pair, (DIRECT,), int(source.integers(SEEDS)))
