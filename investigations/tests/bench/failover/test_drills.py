"""The smallest honest version of each part, in the real proxy. Slow: it boots it, and a provider's minute is a minute.

What a short drill on a busy machine has to show is that it can be believed, not that every bound of the bench is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.failover.arm import EVENKEEL
from evenkeel_lab.bench.failover.overload import bench_overload
from evenkeel_lab.bench.failover.timeline import bench_timeline
from evenkeel_lab.bench.failover.workers import bench_workers
from evenkeel_lab.progress import Silent
from evenkeel_lab.stack.subject import DEFAULT_VERSION

if TYPE_CHECKING:
    from evenkeel_lab.bench.result import Metric

pytestmark = pytest.mark.slow

STOCK = "simple-shuffle"


def by_name(metrics: list[Metric]) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


@pytest.mark.parametrize("arm", [STOCK, EVENKEEL])
async def test_accounts_fail_one_after_another(arm: str) -> None:
    found = by_name(await bench_timeline(Silent(), DEFAULT_VERSION, seconds=20.0, arms=[arm]))
    name = arm.replace("-", "_")
    assert set(found) == {f"success_share_{name}", f"refusals_seen_{name}"}
    assert found[f"success_share_{name}"].value > 0.9
    assert all(metric.ok for metric in found.values())


async def test_more_is_asked_for_than_there_is() -> None:
    found = by_name(await bench_overload(Silent(), DEFAULT_VERSION, seconds=68.0, arms=[EVENKEEL]))
    assert found["capacity_used_share"].value > 0.8
    assert all(metric.ok for metric in found.values())


async def test_workers_share_what_they_know_until_valkey_is_killed() -> None:
    found = by_name(await bench_workers(Silent(), DEFAULT_VERSION, over_seconds=62.0, arms=[EVENKEEL]))
    assert set(found) == {"workers_over_limit_share", "requests_lost_without_redis"}
    assert all(metric.ok for metric in found.values())
