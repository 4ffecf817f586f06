"""Counters of a record writer, for metrics and for the health route."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WriterCounts:
    """Counters of one store's writer since the worker began. The names are those of the health document."""

    store: str
    offered: int
    """Records that were queued or dropped."""
    written: int
    waiting: int
    """Records that are not written yet."""
    queue_full: int
    """Records dropped because too many were waiting."""
    rejected: int
    """Records dropped because the store cannot hold them."""
    shutdown: int
    """Records dropped because the worker ended before the store could be written."""
    batches: int
    failures: int
    """Failed writes, which were retried."""
    locked: int
    """Writes that had to wait because another process had locked the file."""
    pruned: int
    """Records deleted because they were older than `keep`."""
    trouble: str
    """Class of the last error, or why the store is no journal; empty if there was no error since the last write."""

    @property
    def dropped(self) -> int:
        """Records that are lost."""
        return self.queue_full + self.rejected + self.shutdown
