"""Rows brought from one store to another, while both are written.

Each writer numbers its rows, and writes them in that order. So up to which number all of a writer's rows have been
brought over is one number, which the other store keeps beside the rows themselves, in the same transaction: whatever
breaks off, the next back-fill goes on there, and leaves nothing out. Rows that are there already stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import BackfillCursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.store import RecordStore

BATCH_RECORDS = 2000
# Where rows keep coming, what came during a round is brought in the next one, which is shorter.
MAX_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    records_read: int
    """Rows of the source that were looked at, in this run."""
    records_copied: int
    """Rows of those that the other store did not have."""


def back_fill(
    source: RecordStore,
    target: RecordStore,
    source_name: str,
    *,
    restart: bool = False,
    batch_records: int = BATCH_RECORDS,
) -> Iterator[Progress]:
    """Bring over what the target lacks, until there was nothing left to look at; yield after each batch.

    `known_as` is what the target knows the source by; `anew` looks at rows again that were brought over before.
    """
    looked_at = brought = 0
    for turn in range(MAX_ROUNDS):
        done = {} if restart and turn == 0 else target.backfill_positions(source_name)
        before = looked_at
        for writer, last in sorted(source.latest().items()):
            number = done.get(writer, 0)
            while number < last and (records := source.read(writer, number, last, batch_records)):
                number = records[-1].number
                brought += target.write(records, BackfillCursor(source_name, writer, number))
                looked_at += len(records)
                yield Progress(looked_at, brought)
        if looked_at == before:
            return
