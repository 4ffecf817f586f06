from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from evenkeel_lab.stats import Kind, hold, judge

seeds = st.lists(st.integers(0, 10_000), min_size=1, max_size=4)


def figures(numbers: list[int], shift: float) -> list[list[float]]:
    return [(np.random.default_rng(seed).normal(shift, 0.03, 6)).tolist() for seed in numbers]


@settings(max_examples=8, deadline=None)
@given(seeds, st.floats(0, 0.2))
def test_among_several_nothing_becomes_real(numbers: list[int], shift: float) -> None:
    alone = [judge(values, 0.05) for values in figures(numbers, shift)]
    together = hold(alone)
    for before, after in zip(alone, together, strict=True):
        left = Kind.NONE if before.kind is Kind.NEGLIGIBLE else Kind.INCONCLUSIVE
        assert after.kind is before.kind or (before.kind.is_real and after.kind is left)
        assert (after.low, after.high) == (before.low, before.high)


@settings(max_examples=4, deadline=None)
@given(seeds)
def test_what_is_plain_stands(numbers: list[int]) -> None:
    assert all(one.kind is Kind.MATERIAL for one in hold([judge(v, 0.05) for v in figures(numbers, 1.0)]))


def test_what_would_be_chance_among_twenty_does_not_stand() -> None:
    barely = judge([0.1, 0.2, 0.01, 0.12, 0.3, 0.05], 0.03)
    assert barely.kind is Kind.UNCERTAIN
    noise = [judge(values, 0.5) for values in figures(list(range(19)), 0.0)]
    assert hold([barely])[0].kind is Kind.UNCERTAIN
    assert hold([barely, *noise])[0].kind is Kind.INCONCLUSIVE


def test_an_empty_family() -> None:
    assert hold([]) == []
