"""How it goes with a writer, for those who watch it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WriterCounts:
    """Of one store, since the worker began."""

    store: str
    offered: int
    """Rows that were to be written."""
    written: int
    waiting: int
    """Rows that are not written yet."""
    overflowed: int
    """Rows that were dropped because too many waited."""
    refused: int
    """Rows that were dropped because the store cannot keep them."""
    abandoned: int
    """Rows that were dropped because the worker ended before the store could be written."""
    batches: int
    failures: int
    """Writes that went wrong, and were tried again."""
    locked: int
    """Writes that found the file locked by another process, and waited for that."""
    pruned: int
    """Rows that were deleted because they were too old."""
    trouble: str
    """What kind of error came last, or what is there in place of a journal; empty if none ever did, or a write has
    succeeded since."""

    @property
    def dropped(self) -> int:
        """Rows that nobody will ever read."""
        return self.overflowed + self.refused + self.abandoned
