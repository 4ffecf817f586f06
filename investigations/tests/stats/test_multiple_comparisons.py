from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from statsmodels.stats.multitest import multipletests

from evenkeel_lab.stats import Kind, equivalence_test, holm_correction
from evenkeel_lab.stats.multiple_comparisons import rejected_by_holm

seeds = st.lists(st.integers(0, 10_000), min_size=1, max_size=4)


def figures(numbers: list[int], shift: float) -> list[list[float]]:
    return [(np.random.default_rng(seed).normal(shift, 0.03, 6)).tolist() for seed in numbers]


@settings(max_examples=8, deadline=None)
@given(seeds, st.floats(0, 0.2))
def test_correction_never_makes_a_difference_real(numbers: list[int], shift: float) -> None:
    alone = [equivalence_test(values, 0.05) for values in figures(numbers, shift)]
    together = holm_correction(alone)
    for before, after in zip(alone, together, strict=True):
        left = Kind.NONE if before.kind is Kind.NEGLIGIBLE else Kind.INCONCLUSIVE
        assert after.kind is before.kind or (before.kind.is_real and after.kind is left)
        assert (after.low, after.high) == (before.low, before.high)


@settings(max_examples=4, deadline=None)
@given(seeds)
def test_a_clear_difference_stays_material(numbers: list[int]) -> None:
    assert all(
        one.kind is Kind.MATERIAL for one in holm_correction([equivalence_test(v, 0.05) for v in figures(numbers, 1.0)])
    )


def test_a_weak_difference_among_twenty_is_withdrawn() -> None:
    barely = equivalence_test([0.1, 0.2, 0.01, 0.12, 0.3, 0.05], 0.03)
    assert barely.kind is Kind.UNCERTAIN
    noise = [equivalence_test(values, 0.5) for values in figures(list(range(19)), 0.0)]
    assert holm_correction([barely])[0].kind is Kind.UNCERTAIN
    assert holm_correction([barely, *noise])[0].kind is Kind.INCONCLUSIVE


def test_no_verdicts_need_no_correction() -> None:
    assert holm_correction([]) == []


@settings(max_examples=20)
@given(st.lists(st.floats(0, 0.2), min_size=1, max_size=20), st.floats(0.001, 0.1))
def test_holm_rejects_what_statsmodels_rejects(p_values: list[float], alpha: float) -> None:
    assert rejected_by_holm(p_values, alpha).tolist() == multipletests(p_values, alpha, "holm")[0].tolist()
