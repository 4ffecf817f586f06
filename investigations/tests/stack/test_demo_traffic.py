"""Output of the demonstration's requests."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.stack.demo_traffic import Landing, Latencies, have_landed

samples = st.lists(st.floats(0.001, 10), min_size=2, max_size=300).map(tuple)


@given(samples)
def test_quantiles_lie_within_the_sample_and_in_order(seconds: tuple[float, ...]) -> None:
    measured = Latencies(seconds)
    median, tail = measured.quantile(50), measured.quantile(90)
    slack = 1e-9
    assert min(seconds) - slack <= median <= tail + slack <= max(seconds) + 2 * slack


@pytest.mark.parametrize(
    ("n", "percent", "enough"), [(200, 90, True), (199, 90, False), (40, 50, True), (39, 50, False)]
)
def test_a_quantile_needs_twenty_requests_beyond_it(n: int, percent: int, enough: bool) -> None:  # noqa: FBT001
    assert Latencies((1.0,) * n).supports(percent) is enough


@pytest.mark.parametrize(
    ("rows", "dollars", "landed"), [(200, 1.0, True), (200, 0.999, True), (199, 1.0, False), (200, 0.5, False)]
)
def test_spend_has_landed_when_no_table_lags_behind(rows: int, dollars: float, landed: bool) -> None:  # noqa: FBT001
    assert have_landed([Landing("log", rows, 1.0), Landing("keys", 1, dollars)]) is landed
