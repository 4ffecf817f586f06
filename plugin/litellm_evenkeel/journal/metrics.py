"""Prometheus metrics of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.instrumentation.definitions import MetricDefinition, MetricType
from litellm_evenkeel.instrumentation.export import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.journal import Journal

RECORDS = MetricDefinition(MetricType.COUNTER, "journal_records", "Records written.", ("store",))
DROPPED = MetricDefinition(
    MetricType.COUNTER,
    "journal_dropped",
    "Records lost, by reason: queue_full (too many were waiting), rejected (the store cannot hold them), shutdown (the "
    "worker ended). Alert on any.",
    ("store", "reason"),
)
QUEUE_LENGTH = MetricDefinition(MetricType.GAUGE, "journal_queue_length", "Records not written yet.", ("store",))
BATCHES = MetricDefinition(
    MetricType.COUNTER, "journal_batches", "Writes, each of at most `batch_size` records.", ("store",)
)
WRITE_SECONDS = MetricDefinition(
    MetricType.COUNTER,
    "journal_write_seconds",
    "Time that writes took. Divided by `evenkeel_journal_batches_total`, it is the mean time of a write.",
    ("store",),
)
FAILURES = MetricDefinition(
    MetricType.COUNTER, "journal_failures", "Failed writes, which are retried. Alert on any.", ("store",)
)
LOCKED = MetricDefinition(
    MetricType.COUNTER,
    "journal_locked",
    "Writes that had to wait because another process had locked the file.",
    ("store",),
)
PRUNED = MetricDefinition(
    MetricType.COUNTER, "journal_pruned", "Records deleted because they were older than `retention`.", ("store",)
)
LOG_BYTES = MetricDefinition(
    MetricType.GAUGE,
    "journal_log_bytes",
    "Size of the write-ahead log of SQLite. It is some 4 MB; more means that a reader keeps it from being emptied.",
    ("store",),
    "livemax",
)
MISMATCHES = MetricDefinition(
    MetricType.GAUGE,
    "journal_mismatches",
    "During a migration: records that one store has and the other lacks until a back-fill.",
)
ALL = (
    RECORDS,
    DROPPED,
    QUEUE_LENGTH,
    BATCHES,
    WRITE_SECONDS,
    FAILURES,
    LOCKED,
    PRUNED,
    LOG_BYTES,
    MISMATCHES,
)


def definitions(journal: Journal) -> tuple[MetricDefinition, ...]:
    """Return the definitions of the metrics that a worker's journal exports."""
    return tuple(metric for metric in ALL if journal.has_second_store or metric is not MISMATCHES)


def samples(journal: Journal) -> Iterator[Sample]:
    """Yield the samples of a worker's journal."""
    for counts in journal.counts():
        store = (counts.store,)
        yield Sample(RECORDS, store, counts.written)
        for reason in ("queue_full", "rejected", "shutdown"):
            yield Sample(DROPPED, (counts.store, reason), getattr(counts, reason))
        yield Sample(QUEUE_LENGTH, store, counts.waiting)
        yield Sample(BATCHES, store, counts.batches)
        yield Sample(WRITE_SECONDS, store, counts.write_seconds)
        yield Sample(FAILURES, store, counts.failures)
        yield Sample(LOCKED, store, counts.locked)
        yield Sample(PRUNED, store, counts.pruned)
        if counts.log_bytes is not None:
            yield Sample(LOG_BYTES, store, counts.log_bytes)
    if journal.has_second_store:
        yield Sample(MISMATCHES, (), journal.mismatches)
