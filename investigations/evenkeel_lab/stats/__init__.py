"""What may be said of the difference between two arms: pure functions, from figures of runs to one of five verdicts."""

from __future__ import annotations

from evenkeel_lab.stats.equivalence_margin import Margin, Scale
from evenkeel_lab.stats.interim_looks import alpha_of, check_looks
from evenkeel_lab.stats.multiple_comparisons import hold
from evenkeel_lab.stats.verdict import LEAST_PAIRS, Kind, Verdict, detectable, judge, second_opinion

__all__ = [
    "LEAST_PAIRS",
    "Kind",
    "Margin",
    "Scale",
    "Verdict",
    "alpha_of",
    "check_looks",
    "detectable",
    "hold",
    "judge",
    "second_opinion",
]
