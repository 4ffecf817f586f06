"""Following a journal: each record is returned once, and idle writers cost nothing."""

from __future__ import annotations

from typing import Any

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.journal_reader.queries import new_records


def test_new_records_are_returned_once(store: Any) -> None:
    store.write([row(number) for number in range(1, 4)])
    seen = dict(store.latest())
    assert list(new_records(store, seen)) == []
    new = [row(number) for number in range(4, 2500)] + [row(7, writer=2)]
    store.write(new)
    assert list(new_records(store, seen)) == new
    assert list(new_records(store, seen)) == []


def test_only_writers_with_new_records_are_read(store: Any) -> None:
    store.write([row(1, writer) for writer in range(1, 101)])
    seen = dict(store.latest())
    list(new_records(store, seen))
    assert store.reads == 0
    store.write([row(2, writer=50)])
    assert list(new_records(store, seen)) == [row(2, writer=50)]
    assert store.reads == 1


def test_records_deleted_before_they_were_seen_are_skipped(store: Any) -> None:
    store.write([row(1), row(2, writer=2)])
    seen = {1: 1, 2: 1}
    store.prune(2**62, 10)
    assert list(new_records(store, seen)) == []
