from __future__ import annotations

import itertools
import logging
import time
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings, strategies as st

from litellm_evenkeel.journal.settings import JournalSettings
from litellm_evenkeel.journal.store import JournalMissing, RecordsRejected
from litellm_evenkeel.journal.writer import PRUNE_BATCH_RECORDS, RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from litellm_evenkeel.journal.record import RequestRecord
    from litellm_evenkeel.journal.writer import WriterCounts

    Eventually = Callable[[Callable[[], object]], None]
    Made = Callable[..., RequestRecord]

TERMS = JournalSettings(flush_interval=0.01, batch_size=50, queue_size=200, retention=0.0, drain_timeout=2.0)


def accounted(counts: WriterCounts) -> int:
    return counts.written + counts.dropped + counts.waiting


def test_rows_are_written_together_and_in_order(shelf: Any, made: Made) -> None:
    writer = RecordWriter(shelf, TERMS.model_copy(update={"flush_interval": 0.2}))
    for number in range(1, 21):
        writer.enqueue(made(number))
    writer.close()
    assert list(shelf.records) == [(1, number) for number in range(1, 21)]
    assert len(shelf.batches) == 1
    assert shelf.is_closed


def test_many_rows_do_not_wait_for_others(shelf: Any, eventually: Eventually, made: Made) -> None:
    writer = RecordWriter(shelf, TERMS.model_copy(update={"flush_interval": 3600.0}))
    for number in range(1, 50):
        writer.enqueue(made(number))
    time.sleep(0.02)
    assert not shelf.records
    writer.enqueue(made(50))
    eventually(lambda: len(shelf.records) == 50)
    writer.close()


def test_rows_wait_for_others_also_while_they_keep_coming(shelf: Any, made: Made) -> None:
    shelf.fails = lambda _: time.sleep(0.002)
    settings = TERMS.model_copy(update={"flush_interval": 0.05, "batch_size": 10_000, "queue_size": 10_000})
    writer, began = RecordWriter(shelf, settings), time.monotonic()
    for number in range(1, 301):
        writer.enqueue(made(number))
        time.sleep(0.001)
    took = time.monotonic() - began
    writer.close()
    assert len(shelf.records) == 300
    # The first, those of which each waited as long as it should, and the last.
    assert len(shelf.batches) <= took / settings.flush_interval + 2


def test_each_row_is_written_by_itself_where_none_shall_wait(shelf: Any, made: Made) -> None:
    writer = RecordWriter(shelf, TERMS.model_copy(update={"flush_interval": 0.0, "batch_size": 1}))
    for number in range(1, 101):
        writer.enqueue(made(number))
    writer.close()
    assert shelf.batches == [1] * 100


def test_a_batch_is_never_larger_than_it_may_be(shelf: Any, made: Made) -> None:
    shelf.open.clear()
    writer = RecordWriter(shelf, TERMS)
    for number in range(1, 151):
        writer.enqueue(made(number))
    shelf.open.set()
    writer.close()
    assert len(shelf.records) == 150
    assert max(shelf.batches) <= 50


def test_offering_never_waits_and_what_does_not_fit_is_counted(shelf: Any, made: Made) -> None:
    shelf.open.clear()
    writer = RecordWriter(shelf, TERMS)
    began = time.monotonic()
    for number in range(1, 1001):
        writer.enqueue(made(number))
    assert time.monotonic() - began < 5
    counts = writer.counts()
    assert counts.queue_full >= 1000 - 200 - 50
    assert accounted(counts) == counts.offered == 1000
    shelf.open.set()
    writer.close()
    assert writer.counts().written == len(shelf.records) == 1000 - writer.counts().queue_full


def test_what_goes_wrong_is_tried_again_counted_and_said_once(
    shelf: Any, eventually: Eventually, caplog: pytest.LogCaptureFixture, made: Made
) -> None:
    caplog.set_level(logging.WARNING)
    shelf.fails = lambda _: OSError("no room")
    writer = RecordWriter(shelf, TERMS)
    for number in range(1, 11):
        writer.enqueue(made(number))
    eventually(lambda: writer.counts().failures >= 2)
    assert writer.counts().trouble == "OSError"
    assert writer.counts().waiting == 10
    shelf.fails = lambda _: None
    eventually(lambda: writer.counts().written == 10)
    assert writer.counts().trouble == ""
    assert len(caplog.records) == 1
    assert "shelf" in caplog.text
    writer.close()
    assert writer.counts().dropped == 0


def test_what_is_in_place_of_a_journal_is_said(
    shelf: Any, eventually: Eventually, caplog: pytest.LogCaptureFixture, made: Made
) -> None:
    shelf.fails = lambda _: JournalMissing("it holds something else")
    writer = RecordWriter(shelf, TERMS.model_copy(update={"drain_timeout": 0.1}))
    writer.enqueue(made(1))
    eventually(lambda: writer.counts().trouble == "it holds something else")
    eventually(lambda: "it holds something else" in caplog.text)
    writer.close()


def test_a_row_that_cannot_be_kept_costs_no_other_its_place(shelf: Any, made: Made) -> None:
    bad = {7, 8, 31}
    shelf.fails = lambda rows: RecordsRejected("DataError") if any(row.number in bad for row in rows) else None
    writer = RecordWriter(shelf, TERMS.model_copy(update={"flush_interval": 0.1}))
    for number in range(1, 41):
        writer.enqueue(made(number))
    writer.close()
    assert {number for _, number in shelf.records} == set(range(1, 41)) - bad
    assert writer.counts().rejected == len(bad)


def test_a_worker_that_ends_waits_no_longer_than_it_may(
    shelf: Any, caplog: pytest.LogCaptureFixture, made: Made
) -> None:
    shelf.fails = lambda _: OSError("gone")
    writer = RecordWriter(shelf, TERMS.model_copy(update={"drain_timeout": 0.3}))
    for number in range(1, 31):
        writer.enqueue(made(number))
    began = time.monotonic()
    writer.close()
    assert time.monotonic() - began < 5
    assert writer.counts().shutdown == 30
    assert "30 records" in caplog.text
    writer.enqueue(made(31))
    assert accounted(writer.counts()) == 31


def test_old_rows_are_deleted(shelf: Any, eventually: Eventually, made: Made) -> None:
    now = 1_800_000_000.0
    old, young = int((now - 100) * 1e6), int((now - 1) * 1e6)
    shelf.write([made(1, time=old), made(2, time=young)])
    writer = RecordWriter(shelf, TERMS.model_copy(update={"retention": 50.0}), clock=lambda: now)
    eventually(lambda: writer.counts().pruned == 1)
    assert list(shelf.records) == [(1, 2)]
    writer.close()


def test_old_rows_are_deleted_also_where_rows_keep_coming(shelf: Any, eventually: Eventually, made: Made) -> None:
    now, numbers = 1_800_000_000.0, itertools.count(PRUNE_BATCH_RECORDS + 2)
    old, young = int((now - 100) * 1e6), int((now - 1) * 1e6)
    # One more than are deleted before the first row comes.
    shelf.write([made(number, time=old) for number in range(1, PRUNE_BATCH_RECORDS + 2)])
    writer = RecordWriter(
        shelf, TERMS.model_copy(update={"retention": 50.0, "flush_interval": 0.2, "batch_size": 1}), clock=lambda: now
    )
    # While a row is written, the next comes.
    shelf.fails = lambda _: writer.enqueue(made(next(numbers), time=young))
    writer.enqueue(made(next(numbers), time=young))
    eventually(lambda: writer.counts().pruned == PRUNE_BATCH_RECORDS + 1)
    writer.close()


def test_nothing_is_deleted_where_all_is_kept(shelf: Any, made: Made) -> None:
    shelf.write([made(1, time=1)])
    writer = RecordWriter(shelf, TERMS)
    writer.enqueue(made(2))
    writer.close()
    assert len(shelf.records) == 2


@settings(max_examples=12, deadline=None)
@given(outcomes=st.lists(st.sampled_from(["ok", "down", "refused"]), max_size=12), rows=st.integers(1, 120))
def test_every_row_is_written_once_or_counted(new_shelf: Any, made: Made, outcomes: list[str], rows: int) -> None:
    shelf, told = new_shelf(), iter(outcomes)

    def fails(several: object) -> Exception | None:
        outcome = next(told, "ok")
        if outcome == "refused" and len(several) == 1:  # type: ignore[arg-type]
            return RecordsRejected("no")
        return OSError() if outcome == "down" else None

    shelf.fails = fails
    writer = RecordWriter(
        shelf,
        TERMS.model_copy(update={"flush_interval": 0.0, "batch_size": 8, "queue_size": 1000, "drain_timeout": 10.0}),
    )
    for number in range(1, rows + 1):
        writer.enqueue(made(number))
    writer.close()
    counts = writer.counts()
    assert counts.written == len(shelf.records)
    assert counts.written + counts.dropped == rows
    assert counts.queue_full == counts.shutdown == 0
