"""Which run of one arm meets which run of the other.

Runs that have names meet their namesakes; runs without, such as the lines of a table, meet in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.stats.run_set import natural_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.stats.run_set import Runs


@dataclass(frozen=True)
class Pairs:
    """The runs of two arms that are set against each other."""

    places: Sequence[tuple[int, int]]
    """Of each pair, the places of its runs among those of the baseline and of the candidate."""
    warnings: Sequence[str]


def pair(baseline: Runs, candidate: Runs) -> Pairs:
    """Pair runs by their names; if they have none in common, in their order."""
    ours, theirs = (
        {natural_key(name): place for place, name in enumerate(runs.names)} for runs in (baseline, candidate)
    )
    places = [(place, theirs[name]) for name, place in ours.items() if name in theirs]
    warnings = []
    if not places:
        places = [(place, place) for place in range(min(baseline.count, candidate.count))]
        if (baseline.names or candidate.names) and max(baseline.count, candidate.count) > 1:
            warnings.append("paired-by-order: the runs have no names in common, so that they are paired in their order")
    met = [set(side) for side in zip(*places, strict=True)] or [set(), set()]
    warnings += filter(None, (_alone(baseline, met[0], candidate), _alone(candidate, met[1], baseline)))
    return Pairs(places, warnings)


def _alone(runs: Runs, met: set[int], others: Runs) -> str:
    """Say which runs have no partner; nothing if all have one."""
    alone = [place for place in range(runs.count) if place not in met]
    if not alone:
        return ""
    which = ", ".join(runs.names[place] if runs.names else str(place + 1) for place in alone)
    one = len(alone) == 1
    return (
        f"uneven: {'run' if one else 'runs'} {which} of {runs.name} {'has' if one else 'have'} no partner in "
        f"{others.name} and {'is' if one else 'are'} left out"
    )
