"""The fifth drill: four workers share limits in a Redis Cluster, whose master of the shared keys is killed."""

from __future__ import annotations

import os
import signal
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, REFUSED_STATUSES, Intervention, run_drill
from evenkeel_lab.bench.failover.journal import over_limit
from evenkeel_lab.bench.failover.workers import WORKERS, drill
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.servers.valkey_group import valkey_cluster
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.servers.valkey_group import ValkeyGroup

# The load is above the limits when the master dies, so that each account is at its limit before and afterwards.
KILLED_AFTER = 35.0
PREFIX = "drill"


async def bench_cluster(steps: Steps, version: str) -> list[Metric]:
    """Run the drill, and return the metrics."""
    wanted = drill()
    shared = {"evenkeel": {"rotation": {"shared": {"redis_url": "os.environ/CLUSTER_URL", "prefix": PREFIX}}}}
    subject = wanted.subject(EVENKEEL, version, WORKERS, shared)
    with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
        async with (
            stack(wanted.options(), steps=steps) as ground,
            valkey_cluster(ground.folder, ground.logs) as cluster,
            ground.proxy(replace(subject, env={"CLUSTER_URL": cluster.url}), name=EVENKEEL, database_number=1) as proxy,
        ):
            title = f"{WORKERS} workers, {len(wanted.due):,} requests, a master killed after {KILLED_AFTER:.0f} s"
            with steps.step(title):
                outcome = await run_drill(ground, proxy, wanted, Path(name) / "cluster", [_kill_master(cluster)])
    over = over_limit(outcome.journal, wanted.accounts)
    worst = max(over, key=lambda account: over[account])
    lost = sum(not request.is_served and request.status not in REFUSED_STATUSES for request in outcome.requests)
    return [
        Metric("cluster_over_limit_share", over[worst], "", "<= 0.01", f"most: {worst}; {outcome.summary}"),
        Metric("cluster_requests_lost", lost, "", "<= 0", f"of {len(outcome.requests):,}, refusals not counted"),
    ]


def _kill_master(cluster: ValkeyGroup) -> Intervention:
    async def kill() -> None:
        master = await cluster.master_of(f"{{{PREFIX}}}:shared")
        assert master.info.pid is not None
        os.kill(master.info.pid, signal.SIGKILL)

    return Intervention(KILLED_AFTER, kill)
