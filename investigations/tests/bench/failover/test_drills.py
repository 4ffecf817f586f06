"""The smallest honest version of each part, in the real proxy. Slow: it boots it, and a provider's minute is a minute.

What a short drill shows on any machine is asserted here; the bounds are the bench's. On a machine that is too busy for
the drill's schedule it shows nothing, which is no failure of what is tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.failover.arm import EVENKEEL
from evenkeel_lab.bench.failover.overload import bench_overload
from evenkeel_lab.bench.failover.timeline import bench_timeline
from evenkeel_lab.bench.failover.workers import bench_workers
from evenkeel_lab.errors import ScheduleMissed
from evenkeel_lab.progress import Silent
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from evenkeel_lab.bench.result import Metric

pytestmark = pytest.mark.slow

STOCK = "simple-shuffle"


class Found:
    """What a drill has found, with words for who looks at a failure."""

    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = {metric.name: metric for metric in metrics}
        self.told = "".join(f"\n{one.name} {one.value:.4g} ({one.bound}): {one.reference}" for one in metrics)

    def require(self, **least_and_most: tuple[float, float]) -> None:
        assert set(self.metrics) == set(least_and_most)
        for name, (least, most) in least_and_most.items():
            assert least <= self.metrics[name].value <= most, f"{name} is not within {least:g} to {most:g}:{self.told}"


async def shown(drill: Awaitable[list[Metric]]) -> Found:
    try:
        return Found(await drill)
    except ScheduleMissed as error:
        pytest.skip(error.what)


async def test_accounts_fail_one_after_another() -> None:
    found = await shown(bench_timeline(Silent(), DEFAULT_VERSION, seconds=20.0, arms=[STOCK, EVENKEEL]))
    found.require(
        success_share_simple_shuffle=(0.8, 1.0),
        refusals_seen_simple_shuffle=(0, 100),
        success_share_evenkeel=(0.98, 1.0),
        refusals_seen_evenkeel=(0, 0),
    )


async def test_more_is_asked_for_than_there_is() -> None:
    found = await shown(bench_overload(Silent(), DEFAULT_VERSION, seconds=68.0, arms=[EVENKEEL]))
    found.require(
        over_limit_share=(0.0, 0.01),
        # First come, first served would be 0.2 and 0.8.
        fairness_shortfall=(0.0, 0.19),
        modest_keys_served_share=(0.85, 1.0),
        # Who never recovers is said to have taken more than 6, and accounts that never ran dry 68.
        recovery_seconds=(0.0, 5.0),
        capacity_used_share=(0.3, 1.0),
    )
    assert "http_429" in found.told, f"nobody was refused:{found.told}"


async def test_workers_share_what_they_know_until_valkey_is_killed() -> None:
    # Longer than a window, so that what is refused for its being used up is behind it when Valkey dies.
    drill = bench_workers(Silent(), DEFAULT_VERSION, over_seconds=62.0, under_seconds=20.0, arms=[EVENKEEL])
    found = await shown(drill)
    found.require(workers_over_limit_share=(0.0, 0.01), requests_lost_without_redis=(0, 0))
