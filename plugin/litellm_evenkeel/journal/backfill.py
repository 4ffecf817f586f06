"""Back-fill: copies records from one store to another while both are written.

Each writer numbers its records and writes them in that order. So one number for each writer is enough to say which
records have been copied. The target stores this cursor in the same transaction as the records: after an interruption,
the next back-fill continues there and misses nothing. Records that the target already has are left unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.journal.store import BackfillCursor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.store import RecordStore

BATCH_RECORDS = 2000
# Records that arrive during one round are copied in the next one, which is shorter. The bound ends a back-fill whose
# source grows as fast as it is read.
MAX_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a back-fill since its start."""

    records_read: int
    """Records that were read from the source."""
    records_copied: int
    """Records among them that the target did not have."""


def back_fill(
    source: RecordStore,
    target: RecordStore,
    source_name: str,
    *,
    restart: bool = False,
    batch_records: int = BATCH_RECORDS,
) -> Iterator[Progress]:
    """Copy the records that the target lacks until none are left; yield the progress after each batch.

    `source_name` identifies the source in the target's cursors. `restart` ignores these cursors and reads all records
    again.
    """
    read = copied = 0
    for round_index in range(MAX_ROUNDS):
        positions = {} if restart and round_index == 0 else target.backfill_positions(source_name)
        read_before = read
        for writer, last in sorted(source.latest().items()):
            number = positions.get(writer, 0)
            while number < last and (records := source.read(writer, number, last, batch_records)):
                number = records[-1].number
                copied += target.write(records, BackfillCursor(source_name, writer, number))
                read += len(records)
                yield Progress(read, copied)
        if read == read_before:
            return
