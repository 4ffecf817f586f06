"""A journal that is followed: each row is seen once, and who writes nothing costs nothing."""

from __future__ import annotations

from typing import Any

from evenkeel_lab.bench.journal_store.files import row
from evenkeel_lab.journal_reader.queries import new_records


def test_what_has_come_is_seen_once(store: Any) -> None:
    store.write([row(number) for number in range(1, 4)])
    seen = dict(store.latest())
    assert list(new_records(store, seen)) == []
    come = [row(number) for number in range(4, 2500)] + [row(7, writer=2)]
    store.write(come)
    assert list(new_records(store, seen)) == come
    assert list(new_records(store, seen)) == []


def test_of_many_writers_only_those_with_something_new_are_read(store: Any) -> None:
    store.write([row(1, writer) for writer in range(1, 101)])
    seen = dict(store.latest())
    list(new_records(store, seen))
    assert store.reads == 0
    store.write([row(2, writer=50)])
    assert list(new_records(store, seen)) == [row(2, writer=50)]
    assert store.reads == 1


def test_what_was_deleted_before_it_was_seen_keeps_nobody(store: Any) -> None:
    store.write([row(1), row(2, writer=2)])
    seen = {1: 1, 2: 1}
    store.prune(2**62, 10)
    assert list(new_records(store, seen)) == []
