"""The smallest honest version of each part, in the real proxy. Slow: it boots it, and a provider's minute is a minute.

What a short drill on a busy machine has to show is that it can be believed, not that every bound of the bench is kept.
"""

from __future__ import annotations

import importlib.util
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

rotates = pytest.mark.skipif(
    importlib.util.find_spec("litellm_evenkeel.proxy") is None, reason="the plugin has no rotation callback yet"
)
STOCK = "simple-shuffle"


def by_name(metrics: list[Metric]) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


@pytest.mark.parametrize("arm", [STOCK, pytest.param(EVENKEEL, marks=rotates)])
async def test_accounts_fail_one_after_another(arm: str) -> None:
    found = by_name(await bench_timeline(Silent(), DEFAULT_VERSION, seconds=20.0, arms=[arm]))
    name = arm.replace("-", "_")
    assert set(found) == {f"success_share_{name}", f"refusals_seen_{name}"}
    assert found[f"success_share_{name}"].value > 0.9
    assert all(metric.ok for metric in found.values())


@pytest.mark.parametrize("arm", [STOCK, pytest.param(EVENKEEL, marks=rotates)])
async def test_more_is_asked_for_than_there_is(arm: str) -> None:
    found = by_name(await bench_overload(Silent(), DEFAULT_VERSION, seconds=68.0, arms=[arm]))
    assert found["capacity_used_share"].value > 0.8
    assert arm != EVENKEEL or all(metric.ok for metric in found.values())


@pytest.mark.parametrize("arm", [STOCK, pytest.param(EVENKEEL, marks=rotates)])
async def test_workers_share_what_they_know_until_valkey_is_killed(arm: str) -> None:
    found = by_name(await bench_workers(Silent(), DEFAULT_VERSION, over_seconds=62.0, arms=[arm]))
    assert set(found) == {"workers_over_limit_share", "requests_lost_without_redis"}
    assert arm != EVENKEEL or all(metric.ok for metric in found.values())
