"""What the journal tells Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.instrumentation.definitions import MetricDefinition, MetricType
from litellm_evenkeel.instrumentation.export import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.journal import Journal

ROWS = MetricDefinition(MetricType.COUNTER, "journal_rows", "Rows that are written.", ("store",))
DROPPED = MetricDefinition(
    MetricType.COUNTER,
    "journal_dropped",
    "Rows that nobody will read, by why: overflowed (too many waited), refused (the store cannot keep them), abandoned "
    "(the worker ended). Alert on any.",
    ("store", "reason"),
)
WAITING = MetricDefinition(MetricType.GAUGE, "journal_waiting", "Rows that are not written yet.", ("store",))
BATCHES = MetricDefinition(
    MetricType.COUNTER, "journal_batches", "Writes, each of at most `flush_rows` rows that waited.", ("store",)
)
FAILURES = MetricDefinition(
    MetricType.COUNTER, "journal_failures", "Writes that went wrong, and are tried again. Alert on any.", ("store",)
)
LOCKED = MetricDefinition(
    MetricType.COUNTER,
    "journal_locked",
    "Writes that found the file locked by another process, and waited.",
    ("store",),
)
PRUNED = MetricDefinition(
    MetricType.COUNTER, "journal_pruned", "Rows that were deleted because they were too old.", ("store",)
)
MISMATCHES = MetricDefinition(
    MetricType.GAUGE,
    "journal_mismatches",
    "While rows move: how many one store has and the other lacks until a back-fill.",
)
ALL = (ROWS, DROPPED, WAITING, BATCHES, FAILURES, LOCKED, PRUNED, MISMATCHES)


def definitions(journal: Journal) -> tuple[MetricDefinition, ...]:
    """Return what there is to tell of a worker's journal."""
    return tuple(one for one in ALL if journal.has_second_store or one is not MISMATCHES)


def samples(journal: Journal) -> Iterator[Sample]:
    """Yield how it goes with a worker's journal."""
    for one in journal.counts():
        store = (one.store,)
        yield Sample(ROWS, store, one.written)
        for reason in ("overflowed", "refused", "abandoned"):
            yield Sample(DROPPED, (one.store, reason), getattr(one, reason))
        yield Sample(WAITING, store, one.waiting)
        yield Sample(BATCHES, store, one.batches)
        yield Sample(FAILURES, store, one.failures)
        yield Sample(LOCKED, store, one.locked)
        yield Sample(PRUNED, store, one.pruned)
    if journal.has_second_store:
        yield Sample(MISMATCHES, (), journal.mismatches)
