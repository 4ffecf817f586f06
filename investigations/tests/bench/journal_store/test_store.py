"""Ratios of ways to keep rows. Whether one has become worse is what `evenkeel bench store` says on a quiet machine."""

from __future__ import annotations

import pytest

from evenkeel_lab.bench.journal_store import postgres
from evenkeel_lab.bench.journal_store.store import RATIOS, Ratio, bench_store
from evenkeel_lab.progress import Silent

PROMISED = ("wal_read_ratio", "wal_write_ratio", "batch_ratio", "pool_overhead_share", "dual_write_overhead_share")


@pytest.mark.alone
async def test_the_cheaper_way_to_keep_rows_is_the_cheaper_one_here() -> None:
    found = {metric.name: metric for metric in await bench_store(Silent())}
    assert {*PROMISED, "concurrent_read_ratio", "batched_rows_per_second"} == set(found)
    assert all(metric.reference for metric in found.values())
    assert [metric.name for metric in found.values() if metric.bound is None] == ["batched_rows_per_second"]
    # How much cheaper it is depends on the processor.
    assert min(found[name].value for name in ("wal_read_ratio", "wal_write_ratio", "batch_ratio")) > 1
    assert found["dual_write_overhead_share"].value > 0


@pytest.mark.parametrize("one", RATIOS, ids=lambda one: one.name)
def test_a_ratio_may_be_worse_by_a_fifth(one: Ratio) -> None:
    sign, limit = one.bound.split()
    if one.is_share:
        assert sign == "<="
        assert 1 + float(limit) == pytest.approx((1 + one.usual) * 1.2, rel=0.01)
    else:
        assert sign == ">="
        assert float(limit) == pytest.approx(one.usual * 0.8, rel=0.01)


def test_what_is_twice_as_fast_has_a_ratio_of_two_and_what_costs_half_as_much_again_a_share_of_a_half() -> None:
    as_fast, as_dear = (next(one for one in RATIOS if one.is_share is is_share) for is_share in (False, True))
    assert as_fast.of(4.0, 2.0) == 2.0
    assert as_dear.of(4.0, 6.0) == 0.5


@pytest.mark.parametrize(
    "way",
    ["unnest", *(pytest.param(one, marks=pytest.mark.slow) for one in postgres.WAYS if one != "unnest")],
)
def test_each_way_into_postgres_can_be_measured(way: str) -> None:
    assert postgres.write(1, way=way, waits=False) > 0
