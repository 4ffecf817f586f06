"""The third part: four workers share what they know in Valkey; then it is killed."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import EVENKEEL, Act, Drill, Outcome, go
from evenkeel_lab.bench.failover.journal import over_limit
from evenkeel_lab.bench.failover.profile import Stretch, times, total
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.litellm.accounts import unequal_accounts
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.stack import Stack

WORKERS = 4
# More than the accounts bear for longer than a window of theirs, then half of it.
OVER, OVER_SECONDS = 1.2, 70.0
UNDER, UNDER_SECONDS = 0.5, 30.0
# From when on what is under way when Valkey dies is counted too.
KILLED_AFTER, MARGIN_SECONDS = 10.0, 2.0


def drill(over_seconds: float = OVER_SECONDS, under_seconds: float = UNDER_SECONDS) -> Drill:
    """Return what it goes through."""
    accounts = unequal_accounts(8)
    bear = total(accounts)
    stretches = [Stretch(0.0, OVER * bear), Stretch(over_seconds, UNDER * bear)]
    return Drill(accounts, times(stretches, over_seconds + under_seconds), weights=(1.0,) * WORKERS)


async def bench_workers(
    steps: Steps,
    version: str,
    *,
    over_seconds: float = OVER_SECONDS,
    under_seconds: float = UNDER_SECONDS,
    arms: Sequence[str] = (EVENKEEL,),
) -> list[Metric]:
    """Measure."""
    wanted = drill(over_seconds, under_seconds)
    killed = over_seconds + KILLED_AFTER
    found = []
    for arm in arms:
        with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as name:
            async with (
                stack(wanted.options(), steps=steps) as ground,
                ground.proxy(wanted.subject(arm, version, WORKERS), name=arm, database_number=1) as proxy,
            ):
                said = f"{arm}: {WORKERS} workers, {len(wanted.due):,} requests, Valkey killed after {killed:.0f} s"
                with steps.step(said):
                    outcome = await go(ground, proxy, wanted, Path(name) / arm, [_kill_valkey(ground, killed)])
        found += _metrics(wanted, outcome, killed)
    return found


def _kill_valkey(ground: Stack, at: float) -> Act:
    pid = ground.valkey.info.pid
    assert pid is not None

    async def kill() -> None:
        os.kill(pid, signal.SIGKILL)

    return Act(at, kill)


def _metrics(wanted: Drill, found: Outcome, killed: float) -> list[Metric]:
    over = over_limit(found.journal, wanted.accounts)
    worst = max(over, key=lambda name: over[name])
    after = [request for request in found.requests if request.due > killed - MARGIN_SECONDS]
    lost = sum(not request.is_served for request in after)
    return [
        Metric(
            "workers_over_limit_share", over[worst], "", "<= 0.01", f"most: {worst}, {WORKERS} workers; {found.told}"
        ),
        Metric("requests_lost_without_redis", lost, "", "<= 0", f"of {len(after):,} since Valkey was killed"),
    ]
