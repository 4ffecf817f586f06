"""One store, and two while rows move."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.journal.journal import Journal
from litellm_evenkeel.journal.settings import JournalSettings
from litellm_evenkeel.journal.store import RecordsRejected

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.journal.record import RequestRecord

    Eventually = Callable[[Callable[[], object]], None]
    Made = Callable[..., RequestRecord]

TERMS = JournalSettings(flush_interval=0.01, retention=0.0, drain_timeout=2.0)


@pytest.fixture
def record(made: Made) -> RequestRecord:
    return made(0)


def test_rows_are_numbered_from_one_without_a_gap(shelf: Any, record: RequestRecord) -> None:
    journal = Journal(shelf, None, TERMS)
    for _ in range(20):
        journal.append(record)
    journal.close()
    assert shelf.writers()[journal.writer] == (1, 20, 20)
    assert journal.mismatches == 0


def test_workers_are_told_apart(new_shelf: Any) -> None:
    journals = [Journal(new_shelf(), None, TERMS) for _ in range(5)]
    assert len({one.writer for one in journals}) == 5
    for one in journals:
        one.close()


def test_two_stores_are_written_alike(new_shelf: Any, record: RequestRecord) -> None:
    first, second = new_shelf(), new_shelf()
    journal = Journal(first, second, TERMS)
    for _ in range(100):
        journal.append(record)
    journal.close()
    assert first.records == second.records
    assert len(first.records) == 100
    assert journal.mismatches == 0


def test_nothing_that_happens_to_the_second_store_keeps_the_first_from_anything(
    new_shelf: Any, record: RequestRecord, eventually: Eventually
) -> None:
    first, second = new_shelf(), new_shelf()
    second.open.clear()
    journal = Journal(first, second, TERMS.model_copy(update={"queue_size": 50}))
    for _ in range(40):
        journal.append(record)
    eventually(lambda: len(first.records) == 40)
    second.open.set()
    journal.close()
    assert len(second.records) == 40


def test_what_only_one_store_has_is_counted(new_shelf: Any, record: RequestRecord) -> None:
    first, second = new_shelf(), new_shelf()
    second.fails = lambda rows: RecordsRejected("no") if any(record.number % 10 == 0 for record in rows) else None
    journal = Journal(first, second, TERMS)
    for _ in range(50):
        journal.append(record)
    journal.close()
    assert len(first.records) - len(second.records) == 5 == journal.mismatches


def test_the_second_has_nothing_that_the_first_has_not(
    new_shelf: Any, record: RequestRecord, eventually: Eventually
) -> None:
    first, second = new_shelf(), new_shelf()
    first.fails = lambda _: OSError()
    journal = Journal(first, second, TERMS)
    for _ in range(20):
        journal.append(record)
    eventually(lambda: journal.counts()[0].failures > 1)
    assert not second.records
    first.fails = lambda _: None
    eventually(lambda: len(second.records) == 20)
    journal.close()


def test_a_worker_that_ends_waits_for_two_stores_as_long_as_for_one(
    new_shelf: Any, record: RequestRecord, eventually: Eventually
) -> None:
    first, second = new_shelf(), new_shelf()
    settings = TERMS.model_copy(update={"drain_timeout": 1.0})
    journal = Journal(first, second, settings)
    second.fails = lambda _: OSError()
    for _ in range(20):
        journal.append(record)
    eventually(lambda: len(first.records) == 20)
    first.fails = second.fails
    journal.append(record)
    began = time.monotonic()
    journal.close()
    assert time.monotonic() - began < 2 * settings.drain_timeout
    assert [one.shutdown for one in journal.counts()] == [1, 20]


def test_what_the_first_store_keeps_as_a_worker_ends_the_second_gets(new_shelf: Any, record: RequestRecord) -> None:
    first, second = new_shelf(), new_shelf()
    troubles = iter([OSError(), OSError()])
    first.fails = lambda _: next(troubles, None)
    journal = Journal(
        first,
        second,
        TERMS.model_copy(update={"flush_interval": 600.0, "drain_timeout": 10.0}),
    )
    for _ in range(20):
        journal.append(record)
    journal.close()
    assert len(first.records) == 20
    assert first.records == second.records
