"""Cost of a pick by the number of accounts, next to LiteLLM's own strategies."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from evenkeel_lab.bench.result import Metric
from evenkeel_lab.errors import RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from evenkeel_lab.progress import Steps

SELECTION = Path(__file__).with_name("pick_worker.py")
SIZES = (10, 100, 1_000, 10_000)
STOCK_SIZES = (10, 1_000)
BOUNDS = {1_000: "<= 100"}
# With new dictionaries for every request, as in LiteLLM 1.110 and newer.
NEW_SIZES = (10, 1_000)
STOCK = ("simple-shuffle", "latency-based-routing", "usage-based-routing-v2")
# Rounds of all processes alternate, so that noise meets all of them alike.
ROUNDS = 8
LONGEST_LINE = 2**20


async def bench_rotation(steps: Steps) -> list[Metric]:
    """Measure picks in alternating rounds, and return the metrics."""
    async with AsyncExitStack() as stack:
        with steps.step("a process for each number of accounts, and one for LiteLLM's strategies"):
            ours = [[str(size)] for size in SIZES]
            ours += [[f"new:{size}"] for size in NEW_SIZES]
            stock = [f"{strategy}:{size}" for strategy in STOCK for size in STOCK_SIZES]
            workers = [await stack.enter_async_context(_worker(names)) for names in (*ours, [*stock, "fixed"])]
            versions = [(await worker.read_line())["litellm"] for worker in workers]
        with steps.step("picks among 10 to 10,000 accounts, ours and LiteLLM's in turn"):
            rounds: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for _ in range(ROUNDS):
                for worker in workers:
                    for name, result in (await worker.round()).items():
                        rounds[name].append(result)
    return metrics(rounds, versions[0])


def metrics(rounds: Mapping[str, Sequence[Mapping[str, Any]]], version: str) -> list[Metric]:
    """Return the metrics: medians over the rounds of each round's quantile."""
    picks = {name: [result["picks"] for result in results] for name, results in rounds.items()}
    p50 = {size: quantile(picks[str(size)], 0.5) for size in SIZES}
    stock = {size: {name: pooled(picks[f"{name}:{size}"], 0.99) for name in STOCK} for size in STOCK_SIZES}
    return [
        *(
            Metric(
                f"pick_p99_us_{size}",
                quantile(picks[str(size)], 0.99),
                "us",
                BOUNDS.get(size),
                f"p50 {p50[size]:.0f}; all rounds together {pooled(picks[str(size)], 0.99):.0f}; "
                f"{_note(rounds[str(size)])}",
            )
            for size in SIZES
        ),
        Metric(
            "pick_p50_growth_10_to_10000", p50[10_000] / p50[10], "x", "<= 3", f"{p50[10]:.1f} to {p50[10_000]:.1f} us"
        ),
        *_of_new_dictionaries(rounds),
        *(
            Metric(
                f"litellm_pick_p99_us_{size}",
                min(stock[size].values()),
                "us",
                None,
                f"LiteLLM {version}: " + "; ".join(f"{name} {value:,.0f}" for name, value in stock[size].items()),
            )
            for size in reversed(STOCK_SIZES)
        ),
        Metric(
            "fixed_work_p99_us",
            quantile(picks["fixed"], 0.99),
            "us",
            None,
            f"the same work each time, p50 {quantile(picks['fixed'], 0.5):.0f}: its spread is the machine's",
        ),
    ]


def _of_new_dictionaries(rounds: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Metric]:
    """Return the metrics of requests with new dictionaries."""
    results = {size: rounds[f"new:{size}"] for size in NEW_SIZES}
    picks = {size: [result["picks"] for result in results[size]] for size in NEW_SIZES}
    p50 = {size: quantile(picks[size], 0.5) for size in NEW_SIZES}
    largest = max(NEW_SIZES)
    number = sum(len(timings) for timings in picks[largest][1:])
    resident = [result["resident_mib"] for result in results[largest]]
    return [
        Metric(
            f"pick_p99_us_{largest}_new_dicts",
            quantile(picks[largest], 0.99),
            "us",
            "<= 300",
            f"p50 {p50[largest]:.0f}; all rounds together {pooled(picks[largest], 0.99):.0f}",
        ),
        Metric(
            "pick_p50_growth_10_to_1000_new_dicts",
            p50[largest] / p50[min(NEW_SIZES)],
            "x",
            "<= 12",
            f"{p50[min(NEW_SIZES)]:.1f} to {p50[largest]:.1f} us",
        ),
        Metric(
            "memory_growth_mib_20000_picks_new_dicts",
            (resident[-1] - resident[0]) * 20_000 / number,
            "MiB",
            "<= 8",
            f"{resident[0]:.1f} to {resident[-1]:.1f} MiB over {number:,} picks among {largest:,}",
        ),
    ]


def quantile(rounds: Sequence[Sequence[float]], share: float) -> float:
    """Return the median over rounds of each round's quantile."""
    return float(np.median([np.quantile(timings, share) for timings in rounds]))


def pooled(rounds: Sequence[Sequence[float]], share: float) -> float:
    """Return a quantile of all rounds together, for rounds that are too short for one of their own."""
    return float(np.quantile(np.concatenate([np.asarray(timings) for timings in rounds]), share))


def _note(rounds: Sequence[Mapping[str, Any]]) -> str:
    """Return a note with the cost of snapshots and the number of requests without an account."""
    number = sum(len(result["picks"]) for result in rounds)
    each = sum(result["rebuild_seconds"] for result in rounds) * 1e6 / number
    rejected = sum(result["refused"] for result in rounds)
    return f"snapshots, between requests: {each:.1f} a pick" + (f"; {rejected:,} rejected" if rejected else "")


class _Worker:
    """A process that times picks."""

    def __init__(self, child: asyncio.subprocess.Process, errors: IO[bytes]) -> None:
        self._child, self._errors = child, errors

    async def round(self) -> dict[str, Any]:
        """Make the process run a round, and return its results."""
        assert self._child.stdin is not None
        self._child.stdin.write(b"\n")
        return await self.read_line()

    async def read_line(self) -> dict[str, Any]:
        """Read the next line of its output."""
        assert self._child.stdout is not None
        line = await self._child.stdout.readline()
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise RigFailure(f"The picks could not be timed: {last[:200]}", hint="Run make setup, and try again.")
        result: dict[str, Any] = json.loads(line)
        return result


@asynccontextmanager
async def _worker(names: Sequence[str]) -> AsyncIterator[_Worker]:
    with TemporaryFile() as errors:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            SELECTION,
            *names,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=LONGEST_LINE,
        )
        try:
            yield _Worker(child, errors)
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()
