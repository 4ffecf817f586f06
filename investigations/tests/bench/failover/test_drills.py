"""The smallest honest version of each part, in the real proxy. Slow: it boots it, and a provider's minute is a minute.

What a short drill shows on any machine is asserted here; the bounds are the bench's. A drill that missed its schedule,
because the machine was busy, shows nothing: it is repeated.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.failover.arm import EVENKEEL
from evenkeel_lab.bench.failover.outage import bench_outage
from evenkeel_lab.bench.failover.overload import bench_overload
from evenkeel_lab.bench.failover.timeline import bench_timeline
from evenkeel_lab.bench.failover.workers import bench_workers
from evenkeel_lab.progress import Silent
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.bench.result import Metric

    RunDrill = Callable[[Callable[[], list[Metric]]], list[Metric]]

pytestmark = [pytest.mark.slow, pytest.mark.alone]

# The load follows the limits of the accounts. With these it is half of the bench's, which a slow machine serves too.
FEW = 3


class DrillResult:
    """The metrics of a drill, with a text for failed assertions."""

    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = {metric.name: metric for metric in metrics}
        self.text = "".join(f"\n{each.name} {each.value:.4g} ({each.bound}): {each.reference}" for each in metrics)

    def require(self, **bounds: tuple[float, float]) -> None:
        assert set(self.metrics) == set(bounds)
        for name, (least, most) in bounds.items():
            assert least <= self.metrics[name].value <= most, f"{name} is not within {least:g} to {most:g}:{self.text}"


def test_accounts_fail_one_after_another(run_drill: RunDrill) -> None:
    drill = partial(bench_timeline, Silent(), DEFAULT_VERSION, seconds=20.0, arms=[EVENKEEL])
    DrillResult(run_drill(lambda: asyncio.run(drill()))).require(
        success_share_evenkeel=(0.98, 1.0), refusals_seen_evenkeel=(0, 0)
    )


def test_requests_outlast_refusals_of_all_accounts(run_drill: RunDrill) -> None:
    drill = partial(bench_outage, Silent(), DEFAULT_VERSION, arms=[EVENKEEL])
    DrillResult(run_drill(lambda: asyncio.run(drill()))).require(
        outage_answered_share_evenkeel=(0.9, 1.0), outage_refusals_without_retry_after_evenkeel=(0, 0)
    )


@pytest.mark.thorough
def test_overload_is_shared_fairly_and_keeps_limits(run_drill: RunDrill) -> None:
    drill = partial(bench_overload, Silent(), DEFAULT_VERSION, seconds=68.0, accounts=FEW, arms=[EVENKEEL])
    result = DrillResult(run_drill(lambda: asyncio.run(drill())))
    result.require(
        over_limit_share=(0.0, 0.01),
        # First come, first served would be 0.2 and 0.8.
        fairness_shortfall=(0.0, 0.19),
        modest_keys_served_share=(0.85, 1.0),
        # More than 6 means that the clients never recovered; 68 that no account ever ran dry.
        recovery_seconds=(0.0, 5.0),
        capacity_used_share=(0.3, 1.0),
    )
    assert "http_429" in result.text, f"no request was rejected:{result.text}"


@pytest.mark.thorough
def test_workers_share_limits_and_lose_nothing_when_valkey_is_killed(run_drill: RunDrill) -> None:
    # Longer than a quota window, so that rejections for used up limits are over when Valkey is killed.
    drill = partial(
        bench_workers, Silent(), DEFAULT_VERSION, over_seconds=62.0, under_seconds=20.0, accounts=FEW, workers=2
    )
    result = DrillResult(run_drill(lambda: asyncio.run(drill())))
    result.require(workers_over_limit_share=(0.0, 0.01), requests_lost_without_redis=(0, 0))
