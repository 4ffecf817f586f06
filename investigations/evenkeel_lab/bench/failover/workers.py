"""The third drill: four workers share state in Valkey, which is killed during the drill."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, Drill, Intervention, Outcome, run_drill
from evenkeel_lab.bench.failover.journal import over_limit
from evenkeel_lab.bench.failover.profile import Stretch, times, total
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.litellm.accounts import unequal_accounts
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.stack import Stack

WORKERS, ACCOUNTS = 4, 8
# A load above the capacity of the accounts for more than a window, then half of the capacity.
OVER, OVER_SECONDS = 1.2, 70.0
UNDER, UNDER_SECONDS = 0.5, 30.0
# Requests that begin up to two seconds before Valkey dies are counted too.
KILLED_AFTER, MARGIN_SECONDS = 10.0, 2.0


def drill(
    over_seconds: float = OVER_SECONDS,
    under_seconds: float = UNDER_SECONDS,
    accounts: int = ACCOUNTS,
    workers: int = WORKERS,
) -> Drill:
    """Return the drill."""
    chosen = unequal_accounts(accounts)
    capacity = total(chosen)
    stretches = [Stretch(0.0, OVER * capacity), Stretch(over_seconds, UNDER * capacity)]
    return Drill(chosen, times(stretches, over_seconds + under_seconds), weights=(1.0,) * workers)


async def bench_workers(
    steps: Steps,
    version: str,
    *,
    over_seconds: float = OVER_SECONDS,
    under_seconds: float = UNDER_SECONDS,
    accounts: int = ACCOUNTS,
    workers: int = WORKERS,
    arms: Sequence[str] = (EVENKEEL,),
) -> list[Metric]:
    """Run the drill with all arms, and return the metrics."""
    wanted = drill(over_seconds, under_seconds, accounts, workers)
    killed = over_seconds + KILLED_AFTER
    metrics = []
    for arm in arms:
        with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
            async with (
                stack(wanted.options(), steps=steps) as ground,
                ground.proxy(wanted.subject(arm, version, workers), name=arm, database_number=1) as proxy,
            ):
                title = f"{arm}: {workers} workers, {len(wanted.due):,} requests, Valkey killed after {killed:.0f} s"
                with steps.step(title):
                    outcome = await run_drill(ground, proxy, wanted, Path(name) / arm, [_kill_valkey(ground, killed)])
        metrics += _metrics(wanted, outcome, killed, workers)
    return metrics


def _kill_valkey(ground: Stack, at: float) -> Intervention:
    pid = ground.valkey.info.pid
    assert pid is not None

    async def kill() -> None:
        os.kill(pid, signal.SIGKILL)

    return Intervention(at, kill)


def _metrics(wanted: Drill, outcome: Outcome, killed: float, workers: int) -> list[Metric]:
    over = over_limit(outcome.journal, wanted.accounts)
    worst = max(over, key=lambda name: over[name])
    after = [request for request in outcome.requests if request.due > killed - MARGIN_SECONDS]
    lost = sum(not request.is_served for request in after)
    return [
        Metric(
            "workers_over_limit_share",
            over[worst],
            "",
            "<= 0.01",
            f"most: {worst}, {workers} workers; {outcome.summary}",
        ),
        Metric("requests_lost_without_redis", lost, "", "<= 0", f"of {len(after):,} since Valkey was killed"),
    ]
