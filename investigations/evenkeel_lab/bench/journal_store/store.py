"""Whether keeping rows costs what it did: ratios of ways to read and write files, in memory, within one run.

A ratio has a committed value, taken on a quiet machine, and may be worse than it by a fifth. A share is what the second
of two ways costs more than the first: of that, the ratio of their costs may be, so that 0.16 passes up to 0.39. None of
them is a time: those are each machine's own.
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
    """Two ways to do the same."""

    name: str
    usual: float
    """What it was on a quiet machine."""
    about: str
    first: Callable[[int], float]
    second: Callable[[int], float]

    @property
    def is_share(self) -> bool:
        """Whether it tells how much more the second costs than the first, and not how many times as fast it is."""
        return self.name.endswith("_share")

    def of(self, first: float, second: float) -> float:
        """Return it of two times."""
        return second / first - 1 if self.is_share else first / second

    @property
    def bound(self) -> str:
        """Return up to where it has not changed for the worse."""
        # What costs more by a share costs that much of the whole: it is the whole that may grow by a fifth.
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
        # 0.8 on a quiet machine, and less than half of that where others use its cores: threads wait for each other.
        0.25,
        "one thread against ten, which share Python's lock",
        partial(read_at_once, threads=1),
        partial(read_at_once, threads=10),
    ),
)


async def bench_store(steps: Steps) -> list[Metric]:
    """Measure."""
    return [*[await _ratio(steps, one) for one in RATIOS], await _rows(steps)]


async def _ratio(steps: Steps, one: Ratio) -> Metric:
    with steps.step(f"{one.about}, {ROUNDS} times"):
        pairs = [await asyncio.to_thread(_pair, one, seed) for seed in range(ROUNDS)]
    # What each takes at best: the machine only ever adds to it.
    first, second = (min(times) for times in zip(*pairs, strict=True))
    return Metric(one.name, one.of(first, second), "", one.bound, f"{one.about}: {first:.1f} and {second:.1f} us")


def _pair(one: Ratio, seed: int) -> tuple[float, float]:
    """Measure both, the one and the other first by turns."""
    if seed % 2:
        second = one.second(seed)
        return one.first(seed), second
    return one.first(seed), one.second(seed)


async def _rows(steps: Steps) -> Metric:
    with steps.step(f"the journal's own rows, {BATCH} at a time"):
        found = [await asyncio.to_thread(write_twice, seed, size=BATCH) for seed in range(ROUNDS)]
        alone = [await asyncio.to_thread(write_twice, seed, size=1) for seed in range(3)]
    rows = (MICROSECONDS / statistics.median(some) for some in (found, alone))
    batched, single = rows
    return Metric("batched_rows_per_second", batched, "/s", None, f"{single:,.0f}/s a row at a time")
