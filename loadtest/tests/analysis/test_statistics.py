from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from evenkeel_load.analysis.statistics import QUANTILES, quantiles, share_above, spread


@pytest.mark.parametrize("count", [50_000, 400_000])
def test_quantiles_of_a_known_distribution(count: int) -> None:
    known = stats.lognorm(s=0.5, scale=200)
    values = known.rvs(count, random_state=1)
    for p, found in zip(QUANTILES.values(), quantiles(values, list(QUANTILES.values())), strict=True):
        assert found == pytest.approx(known.ppf(p), rel=0.01 if p < 0.999 else 0.03)


def test_quantiles_of_evenly_spread_values() -> None:
    # No sampling error here: what is off is the estimator.
    values = stats.lognorm(s=0.5, scale=200).ppf((np.arange(50_000) + 0.5) / 50_000)
    for p, found in zip(QUANTILES.values(), quantiles(values, list(QUANTILES.values())), strict=True):
        assert found == pytest.approx(np.quantile(values, p), rel=0.01)


def test_what_too_few_values_do_not_tell() -> None:
    few, more, many = (spread(np.arange(float(count))) for count in (30, 400, 20_000))
    assert few is not None
    assert more is not None
    assert many is not None
    assert (list(few.quantiles), few.unsure) == (["p50"], ("p50",))
    assert (list(more.quantiles), more.unsure) == (["p50", "p90", "p95"], ())
    assert (list(many.quantiles), many.unsure) == (list(QUANTILES), ())


def test_nothing_is_spread_in_no_way() -> None:
    assert spread(np.empty(0)) is None
    assert share_above(np.empty(0), 1) == 0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.floats(0, 1e6))
def test_a_spread_is_of_its_values(values: list[float], limit: float) -> None:
    found = spread(np.array(values))
    assert found is not None
    assert found.most == max(values)
    assert found.mean == pytest.approx(np.mean(values))
    # Weights that add up to nearly one leave a rounding error.
    assert all(min(values) * 0.999999 <= told <= max(values) * 1.000001 + 1e-9 for told in found.quantiles.values())
    assert share_above(np.array(values), limit) == sum(value > limit for value in values) / len(values)
