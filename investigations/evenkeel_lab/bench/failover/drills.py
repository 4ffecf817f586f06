"""The drills as functions of an investigation, which compares the router with LiteLLM's own in pairs.

Each call has a stack and a proxy of its own, because a proxy remembers the failures of its accounts.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkeel_lab.bench.failover import (
    outage as outage_drill,
    overload as overload_drill,
    timeline as timeline_drill,
    workers as workers_drill,
)
from evenkeel_lab.bench.failover.arm import EVENKEEL, REFUSED_STATUSES, Intervention, refill, run_drill
from evenkeel_lab.bench.failover.competing_load import use_up
from evenkeel_lab.bench.failover.journal import could_serve, lanes, over_limit
from evenkeel_lab.runner.function import Measured
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.bench.failover.arm import Drill, Outcome

MS = 1000
CLIENT_LEFT = 499


async def timeline(
    seed: int,
    *,
    router: str = EVENKEEL,
    litellm: str = DEFAULT_VERSION,
    seconds: float = timeline_drill.SECONDS,
    settings: Mapping[str, Any] | None = None,
) -> Measured:
    """Run the timeline: accounts fail one after another, under a load of 90 % of the capacity of the healthy ones."""
    drill = replace(timeline_drill.drill(seconds), seed=seed)
    quota, reset = drill.accounts[timeline_drill.QUOTA - 1].name, timeline_drill.RESET * seconds
    async with stack(drill.options()) as ground, ground.proxy(drill.subject(router, litellm, 1, settings)) as proxy:
        with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
            early_reset = Intervention(reset, refill(ground, quota))
            outcome = await run_drill(ground, proxy, drill, Path(folder) / "records", [early_reset])
    return _measured(drill, outcome, {quota: reset}, {})


async def overload(
    seed: int,
    *,
    router: str = EVENKEEL,
    litellm: str = DEFAULT_VERSION,
    seconds: float = overload_drill.SECONDS,
    settings: Mapping[str, Any] | None = None,
) -> Measured:
    """Request 120 % of what the accounts have, while a competing load uses them up in between."""
    drill = replace(overload_drill.drill(seconds=seconds), seed=seed)
    async with stack(drill.options()) as ground, ground.proxy(drill.subject(router, litellm, 1, settings)) as proxy:
        with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
            exhaustion = Intervention(overload_drill.EXHAUSTED_AT, use_up(ground.mock.url, drill.accounts))
            outcome = await run_drill(ground, proxy, drill, Path(folder) / "records", [exhaustion])
    values = {name: value for name, (value, _) in overload_drill.metrics_of(drill, outcome, seconds).items()}
    return _measured(
        drill,
        outcome,
        {},
        {
            "over_limit_share": min(1.0, values["over_limit_share"]),
            "unfair_share": values["fairness_shortfall"],
            "recovery_s": values["recovery_seconds"],
            "capacity_share": values["capacity_used_share"],
        },
    )


async def workers(
    seed: int,
    *,
    router: str = EVENKEEL,
    litellm: str = DEFAULT_VERSION,
    seconds: float = workers_drill.OVER_SECONDS,
    settings: Mapping[str, Any] | None = None,
) -> Measured:
    """Request 120 % of what the accounts have, from a proxy with four workers."""
    count = workers_drill.WORKERS
    drill = replace(workers_drill.drill(seconds, 0.0), seed=seed)
    async with stack(drill.options()) as ground, ground.proxy(drill.subject(router, litellm, count, settings)) as proxy:
        with tempfile.TemporaryDirectory(prefix="evenkeel-bench-") as folder:
            outcome = await run_drill(ground, proxy, drill, Path(folder) / "records")
    served = sum(request.is_served for request in outcome.requests)
    over = over_limit(outcome.journal, drill.accounts)
    capacity = overload_drill.capacity(drill, seconds)
    return _measured(
        drill,
        outcome,
        {},
        {"over_limit_share": min(1.0, max(over.values())), "capacity_share": min(1.0, served / capacity)},
    )


async def outage(
    seed: int, *, router: str = EVENKEEL, litellm: str = DEFAULT_VERSION, settings: Mapping[str, Any] | None = None
) -> Measured:
    """Run the outage: all accounts refuse for five seconds, and do not say for how long."""
    drill = replace(outage_drill.drill(), seed=seed)
    async with stack(drill.options()) as ground, ground.proxy(drill.subject(router, litellm, 1, settings)) as proxy:
        answers = await outage_drill.run(ground, proxy, drill)
    served = [answer.seconds for answer in answers if answer.is_served]
    refused = [answer for answer in answers if answer.is_rejection]
    silent = sum(not answer.has_retry_after for answer in refused)
    return Measured(
        {
            "success_share": len(served) / len(answers),
            "refused_share": len(refused) / len(answers),
            "no_retry_after": silent / len(answers),
        }
        | _latencies(served),
        len(answers),
    )


def _measured(drill: Drill, outcome: Outcome, resets: Mapping[str, float], figures: Mapping[str, float]) -> Measured:
    requests = outcome.requests
    failed = sorted(request.end for request in requests if not request.is_served)
    avoidable = sum(could_serve(outcome.journal, drill.accounts, drill.troubles, failed, resets))
    own = [entry for entry in outcome.journal if not entry.is_others]
    general = {
        "success_share": outcome.success_share,
        "avoidable_share": avoidable / len(requests),
        "refused_share": sum(request.status in REFUSED_STATUSES for request in requests) / len(requests),
        "wasted_share": sum(entry.status == CLIENT_LEFT for entry in own) / len(requests),
        "attempts": len(own) / len(requests),
    }
    served = [request.end - request.due for request in requests if request.is_served]
    everything = general | _latencies(served) | dict(figures)
    drawn = lanes(outcome.journal, drill.accounts, drill.troubles, drill.due[-1] + 1)
    return Measured(everything, len(requests), drawn)


def _latencies(seconds: Sequence[float]) -> dict[str, float]:
    """Return the latencies of the requests that were served."""
    if not seconds:
        return {}
    p50, p95, p99 = np.quantile(seconds, [0.5, 0.95, 0.99]) * MS
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99), "mean": float(np.mean(seconds)) * MS}
