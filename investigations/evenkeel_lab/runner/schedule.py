"""The schedule of a session: its pairs of arms (or blocks of all arms), their order, and their first cores.

Everything is drawn from the session's seed, so that a session that was stopped continues with the same schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from evenkeel_lab.investigation_spec.investigation import AGAIN, DIRECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel_lab.investigation_spec import Investigation

T = TypeVar("T")
# The mock alone is measured once in six pairs. It shows what the rig costs and is not judged.
DIRECT_EVERY = 6
SEEDS = 2**31
PAIR = 2


@dataclass(frozen=True)
class ScheduledPair:
    """A pair of arms, a block of all arms, or the mock alone."""

    pair: int
    """Its number, from 1."""
    arms: tuple[str, ...]
    """In the order of their runs, or of the cores on which they begin."""
    seed: int
    """Seed of arrivals, prompts, users and the mock's latencies: the same for all its arms."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"{self.pair:03}+{'+'.join(sorted(self.arms))}"


def arms_of(name: str) -> list[str]:
    """Return the arms of the scheduled pair with this name, sorted."""
    return name.split("+")[1:]


def pair_number(name: str) -> int:
    """Return the number of the pair in the name of a scheduled pair."""
    return int(name.partition("+")[0])


def boot_number(investigation: Investigation, pair: int) -> int:
    """Return the number of the boot in which a pair runs, from 1; 1 for all pairs if proxies are never rebooted."""
    every = investigation.session.pairs_per_boot
    return (max(pair, 1) - 1) // every + 1 if every else 1


def whole_boots(investigation: Investigation, done: Mapping[str, T], pairs: int) -> dict[str, T]:
    """Return what is done without the boots of which only some pairs are: a stopped boot cannot go on in another."""
    if not investigation.session.pairs_per_boot:
        return dict(done)
    stopped = {
        boot_number(investigation, scheduled.pair)
        for scheduled in schedule(investigation, pairs)
        if scheduled.name not in done
    }
    return {
        name: of_pair for name, of_pair in done.items() if boot_number(investigation, pair_number(name)) not in stopped
    }


def schedule(investigation: Investigation, pairs: int) -> Iterator[ScheduledPair]:
    """Return the scheduled pairs of the first `pairs` pairs, in the order in which they run."""
    together = investigation.arm_groups
    has_noise_floor = any(AGAIN in arms for arms in investigation.comparisons)
    for pair in range(1, pairs + 1):
        source = np.random.default_rng([investigation.session.seed, pair])
        for index in source.permutation(len(together)):
            arms = _shuffled(together[index], source)
            # Each has its own seed: a proxy in several pairs must not know the users of one of them in the next.
            yield ScheduledPair(pair, arms, int(source.integers(SEEDS)))
        if has_noise_floor and pair % DIRECT_EVERY == 1:
            yield ScheduledPair(pair, (DIRECT,), int(source.integers(SEEDS)))


def _shuffled(arms: tuple[str, ...], source: np.random.Generator) -> tuple[str, ...]:
    if len(arms) == PAIR:
        # Sessions of earlier days were scheduled by this draw, and go on with it.
        return arms if source.integers(2) else arms[::-1]
    return tuple(arms[at] for at in source.permutation(len(arms)))
