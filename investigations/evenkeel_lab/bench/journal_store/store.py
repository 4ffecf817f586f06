"""Cost ratios of ways to read and write files in memory, measured within one run.

Each ratio has a committed value of a quiet machine, and may be worse by a fifth. A share is the relative extra cost of
the second way: its bound is a fifth more of the whole cost, so that 0.16 passes up to 0.39. No metric is a time,
because times differ from machine to machine.
"""

from __future__ import annotations

import asyncio
import statistics
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from evenkeel_lab.bench.journal_store.files import (
    MICROSECONDS,
    read,
    read_at_once,
    read_lent,
    write,
    write_in,
    write_twice,
)
from evenkeel_lab.bench.result import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.progress import Steps

ROUNDS = 15
SLACK = 0.2
BATCH = 100


@dataclass(frozen=True)
class Ratio:
    """A ratio of the costs of two ways to do the same."""

    name: str
    usual: float
    """Its value on a quiet machine."""
    about: str
    first: Callable[[int], float]
    second: Callable[[int], float]

    @property
    def is_share(self) -> bool:
        """Whether the metric is the relative extra cost of the second way, and not a speed-up."""
        return self.name.endswith("_share")

    def of(self, first: float, second: float) -> float:
        """Return the metric of two times."""
        return second / first - 1 if self.is_share else first / second

    @property
    def bound(self) -> str:
        """The bound up to which it has not become worse."""
        # The whole cost may grow by a fifth, not the extra cost.
        return f"<= {(1 + self.usual) * (1 + SLACK) - 1:.3g}" if self.is_share else f">= {self.usual * (1 - SLACK):.3g}"


RATIOS = (
    Ratio("wal_read_ratio", 1.5, "DELETE against WAL", partial(read, mode="delete"), partial(read, mode="wal")),
    Ratio("wal_write_ratio", 2.4, "DELETE against WAL", partial(write, mode="delete"), partial(write, mode="wal")),
    Ratio(
        "batch_ratio",
        3.0,
        f"{BATCH} rows one by one against as many in a transaction",
        partial(write_in, transaction="none", size=BATCH),
        partial(write_in, transaction="immediate", size=BATCH),
    ),
    Ratio("pool_overhead_share", 0.16, "one connection against a pool of ten", read, read_lent),
    Ratio(
        "dual_write_overhead_share",
        1.0,
        "one file against two, a row at a time",
        partial(write_twice, how="one"),
        partial(write_twice, how="sequential"),
    ),
    Ratio(
        "concurrent_read_ratio",
        # 0.8 on a quiet machine, and less than half of that on a busy one: threads wait for each other.
        0.25,
        "one thread against ten, which share Python's lock",
        partial(read_at_once, threads=1),
        partial(read_at_once, threads=10),
    ),
)


async def bench_store(steps: Steps) -> list[Metric]:
    """Measure all ratios, and return the metrics."""
    return [*[await _measure(steps, ratio) for ratio in RATIOS], await _rows(steps)]


async def _measure(steps: Steps, ratio: Ratio) -> Metric:
    with steps.step(f"{ratio.about}, {ROUNDS} times"):
        pairs = [await asyncio.to_thread(_pair, ratio, seed) for seed in range(ROUNDS)]
    # The minimum of each, because noise only adds time.
    first, second = (min(times) for times in zip(*pairs, strict=True))
    return Metric(
        ratio.name, ratio.of(first, second), "", ratio.bound, f"{ratio.about}: {first:.1f} and {second:.1f} us"
    )


def _pair(ratio: Ratio, seed: int) -> tuple[float, float]:
    """Measure both ways, in alternating order."""
    if seed % 2:
        second = ratio.second(seed)
        return ratio.first(seed), second
    return ratio.first(seed), ratio.second(seed)


async def _rows(steps: Steps) -> Metric:
    with steps.step(f"the journal's own rows, {BATCH} at a time"):
        in_batches = [await asyncio.to_thread(write_twice, seed, size=BATCH) for seed in range(ROUNDS)]
        alone = [await asyncio.to_thread(write_twice, seed, size=1) for seed in range(3)]
    batched, single = (MICROSECONDS / statistics.median(costs) for costs in (in_batches, alone))
    return Metric("batched_rows_per_second", batched, "/s", None, f"{single:,.0f}/s a row at a time")
