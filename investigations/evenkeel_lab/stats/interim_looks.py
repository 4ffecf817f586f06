"""Looks: after how many pairs a session may be judged. Declared beforehand, because each look may err.

Who looks after every pair from 5 to 24 and stops at the first "difference" errs in 21 of 100 sessions, not in 5.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.stats.verdict import ALPHA, LEAST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence

# What each of so many looks may err by, so that all of them together err in at most 5 of 100 sessions, if each comes
# after about twice as many pairs as the one before. Simulated.
EACH = {1: ALPHA, 2: 0.027, 3: 0.018}


def alpha_of(looks: Sequence[int]) -> float:
    """Return what each of these looks may err by."""
    check_looks(looks)
    return EACH[len(looks)]


def check_looks(looks: Sequence[int]) -> None:
    """Raise for what are no looks."""
    if not 1 <= len(looks) <= max(EACH):
        raise ValueError(f"there are 1 to {max(EACH)} looks, not {len(looks)}")
    if looks[0] < LEAST_PAIRS:
        raise ValueError(f"{looks[0]} pairs are no basis for a verdict: {LEAST_PAIRS} are the least")
    if any(later <= earlier for earlier, later in pairwise(looks)):
        raise ValueError("each look comes after more pairs than the one before")
