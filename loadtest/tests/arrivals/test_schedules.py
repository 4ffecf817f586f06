"""One suite for all schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenkeel_load.arrivals import Arrivals, Constant, Extent, Gamma, Poisson, Ramp, Trace, shard
from evenkeel_load.errors import LoadConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEADY: dict[str, Callable[[float, Extent], Arrivals]] = {
    "constant": Constant,
    "poisson": Poisson,
    "gamma": lambda rate, extent: Gamma(rate, 3.0, extent),
}
rates = st.floats(0.5, 500)
seeds = st.integers(0, 2**40)


@pytest.mark.parametrize("kind", STEADY)
@given(rates, st.integers(1, 500), seeds)
def test_so_many_requests(kind: str, rate: float, requests: int, seed: int) -> None:
    times = STEADY[kind](rate, Extent(requests=requests)).times(seed)
    assert len(times) == requests
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 0


@pytest.mark.parametrize("kind", STEADY)
@given(rates, st.floats(0.1, 20), seeds)
def test_so_many_seconds(kind: str, rate: float, seconds: float, seed: int) -> None:
    times = STEADY[kind](rate, Extent(seconds=seconds)).times(seed)
    assert (times < seconds).all()


@pytest.mark.parametrize("kind", STEADY)
def test_the_rate_is_kept(kind: str) -> None:
    times = STEADY[kind](200, Extent(seconds=500)).times(3)
    assert len(times) == pytest.approx(100_000, rel=0.05)


@pytest.mark.parametrize(("kind", "cv"), [("constant", 0), ("poisson", 1), ("gamma", 3)])
def test_how_much_gaps_vary(kind: str, cv: float) -> None:
    gaps = np.diff(STEADY[kind](100, Extent(requests=100_000)).times(5))
    assert gaps.std() / gaps.mean() == pytest.approx(cv, abs=0.05 * max(cv, 1e-6))


@pytest.mark.parametrize("kind", STEADY)
def test_the_same_seed_gives_the_same_times(kind: str) -> None:
    arrivals = STEADY[kind](50, Extent(requests=100))
    assert (arrivals.times(1) == arrivals.times(1)).all()
    assert kind == "constant" or (arrivals.times(1) != arrivals.times(2)).any()


@pytest.mark.parametrize("cv", [0.3, 1.0, 4.0])
def test_short_loads_have_their_share_of_a_burst_and_no_more(cv: float) -> None:
    counts = [len(Gamma(50, cv, Extent(seconds=0.5)).times(seed)) for seed in range(2000)]
    assert np.mean(counts) == pytest.approx(25, rel=0.07)


@given(rates, st.integers(1, 300), st.integers(1, 9))
def test_shards_share_everything_and_nothing_twice(rate: float, requests: int, count: int) -> None:
    times = Poisson(rate, Extent(requests=requests)).times(0)
    dealt = [pair for index in range(count) for pair in shard(times, index, count)]
    assert sorted(dealt) == list(enumerate(times.tolist()))


@given(st.floats(0.5, 100), st.floats(0.5, 100), st.floats(2, 60))
def test_a_ramp_goes_evenly_from_rate_to_rate(first: float, last: float, seconds: float) -> None:
    times = Ramp(first, last, Extent(seconds=seconds)).times(0)
    middle = (first + last) / 2
    assert len(times) == pytest.approx(middle * seconds, abs=1)
    early = (times < seconds / 2).sum()
    assert early == pytest.approx((first + middle) / 2 * seconds / 2, abs=2)
    assert (times <= seconds).all()


def test_nothing_says_when_it_ends() -> None:
    with pytest.raises(LoadConfigError, match="The load has no end"):
        Extent()


def test_more_than_a_schedule_holds_is_refused() -> None:
    with pytest.raises(LoadConfigError, match="too many for a schedule"):
        Poisson(1e6, Extent(seconds=1e6)).times(0)


@pytest.mark.parametrize(
    "written",
    [
        "10\n10.5\n12\n",
        "at,what\n10,x\n10.5,y\n12,z\n",
        "2026-01-31T12:00:10Z\n2026-01-31T12:00:10.5Z\n2026-01-31T12:00:12Z\n",
        "12\n\n10\n10.5\n",
        "\ufeff10\n10.5\n12\n",
    ],
)
def test_a_trace_counts_from_its_first_time(tmp_path: Path, written: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(written)
    assert Trace(path).times(0).tolist() == [0, 0.5, 2]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("at\n", "has no times"),
        ("", "has no times"),
        ("1\nlater\n", "line 2"),
        ("1\nnan\n", "line 2"),
        ("1o\n2\n", "line 1"),
        ("1\n\n\nlater\n", "line 4"),
        ("1\n2026-01-31T12:00:10Z\n", "not of the same kind"),
    ],
)
def test_a_trace_that_cannot_be_read_is_refused(tmp_path: Path, written: str, told: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(written)
    with pytest.raises(LoadConfigError, match=told):
        Trace(path).times(0)


def test_a_part_of_a_schedule_is_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("1\n2\n3\n4\n")
    assert Trace(path, Extent(requests=2)).times(0).tolist() == [0, 1]
    assert Trace(path, Extent(seconds=2.5)).times(0).tolist() == [0, 1, 2]
    assert len(Ramp(10, 20, Extent(requests=7, seconds=10)).times(0)) == 7


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadConfigError, match="cannot be read"):
        Trace(tmp_path / "none").times(0)
