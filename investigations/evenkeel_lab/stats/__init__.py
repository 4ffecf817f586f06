"""Statistics of the difference between two arms: pure functions, from metrics of runs to one of five verdicts."""

from __future__ import annotations

from evenkeel_lab.stats.equivalence_margin import Margin, Scale
from evenkeel_lab.stats.interim_looks import alpha_per_look, check_looks
from evenkeel_lab.stats.multiple_comparisons import holm_correction
from evenkeel_lab.stats.verdict import LEAST_PAIRS, Kind, Verdict, detectable, equivalence_test, permutation_p_value

__all__ = [
    "LEAST_PAIRS",
    "Kind",
    "Margin",
    "Scale",
    "Verdict",
    "alpha_per_look",
    "check_looks",
    "detectable",
    "equivalence_test",
    "holm_correction",
    "permutation_p_value",
]
