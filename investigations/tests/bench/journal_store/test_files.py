"""Ways to read and write files, each with few rows. Which of them is faster depends on the machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.journal_store import files

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = {
    "reads one by one": partial(files.read_many, how="one"),
    "reads in a transaction": partial(files.read_many, how="transaction"),
    "reads in one query": partial(files.read_many, how="query"),
    "reads beside a writer": partial(files.read_beside_writer, threads=2),
    "reads beside a writer without a log": partial(files.read_beside_writer, mode="delete", threads=2),
    "a pool of one": partial(files.read_and_write_lent, size=1, threads=2),
    "a pool for each thread": partial(files.read_and_write_lent, size=2, threads=2),
    "savepoints": partial(files.write_in, savepoint_every=10),
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "OPERATIONS", 100)
    monkeypatch.setattr(files, "LEAST_BATCHES", 2)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_each_way_takes_some_time_for_a_row(way: Callable[[int], float]) -> None:
    assert way(1) > 0


def test_one_query_reads_a_hundred_rows_faster_than_a_hundred_queries() -> None:
    single, together = (min(files.read_many(seed, how=how) for seed in range(3)) for how in ("one", "query"))
    assert together < single
