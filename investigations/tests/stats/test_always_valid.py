from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from evenkeel_lab.stats import LEAST_PAIRS, equivalence_test
from evenkeel_lab.stats.always_valid import critical_t, p_value

pairs = st.integers(LEAST_PAIRS, 500)
alphas = st.floats(0.001, 0.2)


@given(pairs, alphas)
def test_the_p_value_of_the_critical_value_is_alpha(count: int, alpha: float) -> None:
    critical = critical_t(count, alpha)
    if math.isfinite(critical):
        assert p_value(critical, count) == pytest.approx(alpha, rel=1e-6)
        assert p_value(critical * 1.01, count) < alpha < p_value(critical * 0.99, count)


@given(pairs, alphas)
def test_an_interval_is_wider_than_the_usual_one(count: int, alpha: float) -> None:
    assert critical_t(count, alpha) > stats.t.ppf(1 - alpha / 2, count - 1)


@given(pairs)
def test_a_large_effect_has_a_p_value_and_no_overflow(count: int) -> None:
    assert 0 <= p_value(1e200, count) < 0.05
    assert p_value(0.0, count) == 1.0


def test_looks_after_every_pair_err_seldom() -> None:
    source = np.random.default_rng(1)
    sessions = source.normal(0, 0.03, (200, 30))

    def errs(session: np.ndarray, *, always_valid: bool) -> bool:
        return any(
            equivalence_test(session[:count], 0.05, always_valid=always_valid).kind.is_real
            for count in range(LEAST_PAIRS, len(session) + 1)
        )

    always_valid, usual = (
        np.mean([errs(session, always_valid=is_on) for session in sessions]) for is_on in (True, False)
    )
    assert always_valid <= 0.07
    assert usual > 0.1
