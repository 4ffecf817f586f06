"""Moving rows, between files: what keeps them is as real as can be had without a server."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import given, settings, strategies as st

from litellm_evenkeel.journal.backfill import back_fill
from litellm_evenkeel.journal.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.store import RecordStore

    Made = Callable[..., RequestRecord]

Numbers: TypeAlias = "dict[tuple[int, int], float]"
NUMBERS = st.dictionaries(st.tuples(st.integers(1, 3), st.integers(1, 30)), st.floats(0, 9), max_size=40)
FEW = settings(deadline=None, max_examples=25)
TIME = 1_700_000_000_000_000


@contextmanager
def two() -> Iterator[tuple[SqliteStore, SqliteStore]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        yield tuple(stack.enter_context(closing(SqliteStore(Path(folder) / name))) for name in "ab")  # type: ignore[misc]


def rows_of(numbers: Numbers, made: Made) -> list[RequestRecord]:
    return [made(number, writer, latency=latency) for (writer, number), latency in sorted(numbers.items())]


def held(store: RecordStore) -> dict[tuple[int, int], RequestRecord]:
    return {(record.writer, record.number): record for record in store.newest(100_000)}


@FEW
@given(here=NUMBERS, there=NUMBERS)
def test_a_back_fill_brings_what_is_missing_and_touches_nothing_else(made: Made, here: Numbers, there: Numbers) -> None:
    with two() as (source, target):
        source.write(rows_of(here, made))
        target.write(rows_of(there, made))
        before = held(target)
        list(back_fill(source, target, "s", batch_records=4))
        assert held(target) == {**held(source), **before}


@FEW
@given(numbers=NUMBERS, deleted=st.sets(st.integers(1, 30)))
def test_what_was_deleted_there_is_brought_again_when_all_is_looked_at_anew(
    made: Made, numbers: Numbers, deleted: set[int]
) -> None:
    with two() as (source, target):
        source.write(rows_of(numbers, made))
        list(back_fill(source, target, "s", batch_records=4))
        moved = target.backfill_positions("s")
        for number in deleted:
            # Whose rows came at that moment.
            target.prune(TIME + number, 1)
        list(back_fill(source, target, "s", batch_records=4))
        assert len(held(target)) <= len(held(source))
        list(back_fill(source, target, "s", restart=True, batch_records=4))
        assert held(target) == held(source)
        assert target.backfill_positions("s") == moved


@FEW
@given(numbers=NUMBERS, batches=st.integers(0, 12))
def test_whatever_breaks_off_the_next_one_goes_on_there(made: Made, numbers: Numbers, batches: int) -> None:
    with two() as (source, target):
        source.write(rows_of(numbers, made))
        first = back_fill(source, target, "s", batch_records=3)
        for _ in zip(range(batches), first, strict=False):
            pass
        first.close()
        there = len(held(target))
        done = [one.records_read for one in back_fill(source, target, "s", batch_records=3)]
        assert max(done, default=0) == len(numbers) - there
        assert held(target) == held(source)


def test_what_comes_meanwhile_is_brought_too(made: Made) -> None:
    with two() as (source, target):
        source.write([made(number) for number in range(1, 11)])
        filling = back_fill(source, target, "s", batch_records=5)
        next(filling)
        source.write([made(11), made(1, writer=2)])
        list(filling)
        assert held(target) == held(source)
        assert len(held(target)) == 12
