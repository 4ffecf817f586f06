"""Pairing of the runs of two arms.

Runs of the same name are paired. Runs without names, such as the lines of a CSV file, are paired in their order.
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
    """Pairs of runs of two arms."""

    indices: Sequence[tuple[int, int]]
    """Of each pair, the indices of its runs in the baseline and in the candidate."""
    warnings: Sequence[str]


def pair(baseline: Runs, candidate: Runs) -> Pairs:
    """Pair runs by their names; if they have no names in common, by their order."""
    first, second = (
        {natural_key(name): index for index, name in enumerate(runs.names)} for runs in (baseline, candidate)
    )
    indices = [(index, second[name]) for name, index in first.items() if name in second]
    warnings = []
    if not indices:
        indices = [(index, index) for index in range(min(baseline.count, candidate.count))]
        if (baseline.names or candidate.names) and max(baseline.count, candidate.count) > 1:
            warnings.append("paired-by-order: the runs have no names in common, so that they are paired in their order")
    paired = [set(arm) for arm in zip(*indices, strict=True)] or [set(), set()]
    warnings += filter(None, (_unpaired(baseline, paired[0], candidate), _unpaired(candidate, paired[1], baseline)))
    return Pairs(indices, warnings)


def _unpaired(runs: Runs, paired: set[int], partners: Runs) -> str:
    """Return a warning about runs that have no partner; empty if all have one."""
    unpaired = [index for index in range(runs.count) if index not in paired]
    if not unpaired:
        return ""
    which = ", ".join(runs.names[index] if runs.names else str(index + 1) for index in unpaired)
    single = len(unpaired) == 1
    return (
        f"uneven: {'run' if single else 'runs'} {which} of {runs.name} {'has' if single else 'have'} no partner in "
        f"{partners.name} and {'is' if single else 'are'} left out"
    )
