from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings, strategies as st

from evenkeel_mock.timing.distributions import LEAST_SHAPE, MOST_SHAPE
from evenkeel_mock.timing.gamma import REACH, Table, log_quantile

Z = NormalDist().inv_cdf

# scipy.stats.gamma.ppf(probability, shape), SciPy 1.x.
KNOWN = {
    0.1: {
        1e-12: 6.073048362407918e-121,
        0.01: 6.073048362407912e-21,
        0.5: 0.0005933911044602284,
        0.999: 3.3636770117187536,
    },
    0.5: {1e-12: 7.853981633974466e-25, 0.01: 7.854392895485092e-05, 0.5: 0.227468211559786, 0.999: 5.413783085331366},
    2.5: {1e-12: 2.5623217484152705e-05, 0.01: 0.2771490383641386, 0.5: 2.175730095547763, 0.999: 10.257502826216436},
    20: {1e-12: 2.330041577592617, 0.01: 11.082130626487578, 0.5: 19.66767242330567, 0.999: 36.70097875949551},
    1000: {1e-12: 793.4392266170769, 0.01: 927.9081597966425, 0.5: 999.6666864269652, 0.999: 1100.5780982933145},
    10_000: {1e-12: 9312.628969854226, 0.01: 9768.836856696591, 0.5: 9999.666668642047, 0.999: 10311.875224539537},
}
POINTS = [(shape, share, known) for shape, points in KNOWN.items() for share, known in points.items()]


@pytest.mark.parametrize(("shape", "share", "known"), POINTS)
def test_quantiles_are_those_of_scipy(shape: float, share: float, known: float) -> None:
    assert math.exp(log_quantile(shape, Z(share))) == pytest.approx(known, rel=1e-10)


@pytest.mark.parametrize(("shape", "share", "known"), POINTS)
def test_the_table_is_as_good_as_the_function(shape: float, share: float, known: float) -> None:
    assert Table(shape).quantile(Z(share)) == pytest.approx(known, rel=2e-8)


@given(st.floats(-REACH, REACH))
def test_of_shape_1_it_is_the_exponential(z: float) -> None:
    above = 0.5 * math.erfc(z / math.sqrt(2))
    below = 0.5 * math.erfc(-z / math.sqrt(2))
    expected = -math.log(above) if z > 0 else -math.log1p(-below)
    assert math.exp(log_quantile(1.0, z)) == pytest.approx(expected, rel=1e-11)


@settings(max_examples=15, deadline=None)
@given(st.floats(math.log(LEAST_SHAPE), math.log(MOST_SHAPE)).map(math.exp))
def test_the_table_rises_and_follows_the_function(shape: float) -> None:
    table = Table(shape)
    points = [number / 7 for number in range(-59, 60)]
    quantiles = [table.quantile(z) for z in points]
    assert quantiles == sorted(quantiles)
    for z, quantile in zip(points[::13], quantiles[::13], strict=True):
        assert quantile == pytest.approx(math.exp(log_quantile(shape, z)), rel=2e-8)


def test_beyond_its_reach_the_table_ends() -> None:
    table = Table(2.0)
    assert table.quantile(REACH + 1) == table.quantile(REACH)
    assert table.quantile(-REACH - 1) == table.quantile(-REACH)
