"""Drills of the rotation in a real proxy: accounts fail, demand exceeds all limits, workers share limits.

Each part may be run alone. Each arm has a new proxy, the same requests at the same moments, and the same faults. The
attempts at an account are counted by the mock provider, never by a proxy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.cluster import bench_cluster
from evenkeel_lab.bench.failover.outage import bench_outage
from evenkeel_lab.bench.failover.overload import bench_overload
from evenkeel_lab.bench.failover.timeline import bench_timeline
from evenkeel_lab.bench.failover.workers import bench_workers
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION, require_allowed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel_lab.bench.result import Metric
    from evenkeel_lab.progress import Steps

PARTS: dict[str, Callable[[Steps, str], Awaitable[list[Metric]]]] = {
    "timeline": bench_timeline,
    "overload": bench_overload,
    "workers": bench_workers,
    "outage": bench_outage,
    "cluster": bench_cluster,
}
"""Parts by name."""


async def bench_failover(
    steps: Steps, *, parts: Sequence[str] = tuple(PARTS), version: str = DEFAULT_VERSION
) -> list[Metric]:
    """Measure."""
    require_allowed(version)
    return [metric for part in parts for metric in await PARTS[part](steps, version)]
