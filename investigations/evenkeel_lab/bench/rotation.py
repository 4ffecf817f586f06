"""What a pick costs, and how that grows with the number of accounts; LiteLLM's own choice beside it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkeel_lab.bench.result import Metric
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.progress import Steps

SELECTION = Path(__file__).with_name("selection.py")
SIZES = (10, 100, 1_000, 10_000)
BOUNDS = {1_000: "<= 100"}
STOCK = ("simple-shuffle", "latency-based-routing", "usage-based-routing-v2")


async def bench_rotation(steps: Steps) -> list[Metric]:
    """Measure."""
    with steps.step("picks among 10 to 10,000 accounts, ours and LiteLLM's in turn"):
        found = await _selection()
    return metrics(found)


def metrics(found: dict[str, Any]) -> list[Metric]:
    """Return the figures of what was timed: of each round's quantile, the median over the rounds."""
    rounds = found["rounds"]
    p50 = {size: quantile(rounds[str(size)], 0.5) for size in SIZES}
    stock = {name: pooled(rounds[f"{name} 1000"], 0.99) for name in STOCK}
    few = {name: pooled(rounds[f"{name} 10"], 0.99) for name in STOCK}
    told = "; ".join(f"{name} {value:,.0f}" for name, value in stock.items())
    rebuilt = {
        name: float(np.sum(times)) * 1e6 / _picks(rounds[name]) for name, times in found["rebuild_seconds"].items()
    }
    return [
        *(
            Metric(
                f"pick_p99_us_{size}",
                quantile(rounds[str(size)], 0.99),
                "us",
                BOUNDS.get(size),
                f"p50 {p50[size]:.0f}; snapshots, between requests: {rebuilt[str(size)]:.1f} a pick",
            )
            for size in SIZES
        ),
        Metric(
            "pick_p50_growth_10_to_10000", p50[10_000] / p50[10], "x", "<= 3", f"{p50[10]:.1f} to {p50[10_000]:.1f} us"
        ),
        Metric(
            "litellm_pick_p99_us_1000", min(stock.values()), "us", None, f"LiteLLM {found['litellm']}, 1,000: {told}"
        ),
        Metric(
            "litellm_pick_p99_us_10",
            min(few.values()),
            "us",
            None,
            "10: " + "; ".join(f"{name} {value:,.0f}" for name, value in few.items()),
        ),
    ]


def quantile(rounds: Sequence[Sequence[float]], share: float) -> float:
    """Return the median over rounds of a quantile of each."""
    return float(np.median([np.quantile(one, share) for one in rounds]))


def pooled(rounds: Sequence[Sequence[float]], share: float) -> float:
    """Return a quantile of all of them together, of rounds that are too short for one of their own."""
    return float(np.quantile(np.concatenate([np.asarray(one) for one in rounds]), share))


def _picks(rounds: Sequence[Sequence[float]]) -> int:
    return sum(map(len, rounds))


async def _selection() -> dict[str, Any]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, SELECTION, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        printed, told = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        last = told.decode(errors="replace").strip().rpartition("\n")[2]
        raise RigFailure(f"The picks could not be timed: {last[:200]}", cure="make setup, then again.")
    result: dict[str, Any] = json.loads(printed.decode().strip().rpartition("\n")[2])
    return result
