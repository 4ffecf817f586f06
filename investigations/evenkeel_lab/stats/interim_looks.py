"""Interim looks: the numbers of pairs after which a session may be judged, declared beforehand.

Each look may err. A look after every pair from 5 to 24 that stops at the first "difference" errs in 21 of 100
sessions, not in 5.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.stats.verdict import ALPHA, LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence

# Error probability of each look by the number of looks, so that all together err in at most 5 of 100 sessions. The
# values are simulated, with about twice as many pairs at each look as at the one before.
ALPHA_BY_LOOKS = {1: ALPHA, 2: 0.027, 3: 0.018}


def alpha_per_look(looks: Sequence[int]) -> float:
    """Return the error probability that each of `looks` may have."""
    check_looks(looks)
    return ALPHA_BY_LOOKS[len(looks)]


def check_looks(looks: Sequence[int]) -> None:
    """Raise `ValueError` unless `looks` are valid numbers of pairs."""
    if not 1 <= len(looks) <= max(ALPHA_BY_LOOKS):
        raise ValueError(f"expected 1 to {max(ALPHA_BY_LOOKS)} looks, got {len(looks)}")
    if looks[0] < LEAST_PAIRS:
        raise ValueError(f"a look needs at least {LEAST_PAIRS} pairs, got {looks[0]}")
    if any(later <= earlier for earlier, later in pairwise(looks)):
        raise ValueError("each look needs more pairs than the one before")
