"""The files of all processes, made one: `records.parquet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkeel_load import folder as names
from evenkeel_load.errors import LoadFailed
from evenkeel_load.record import MERGED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS_AT_ONCE = 100_000


def merge(folder: Path) -> Path:
    """Merge what the processes have written, and remove it; return the file. One that is there already is kept."""
    target = folder / names.RECORDS
    parts = sorted(folder.glob(names.PARTS))
    if not parts:
        if target.exists():
            return target
        raise LoadFailed(f"{folder} holds no records.", cure="Look into its log: nothing was sent.")
    new = target.with_suffix(".new")
    try:
        _write(new, target, parts)
    except (pa.ArrowException, OSError) as error:
        new.unlink(missing_ok=True)
        raise LoadFailed(
            f"{folder}: the records cannot be merged: {error}.", cure="They are kept as they are."
        ) from error
    new.replace(target)
    for part in parts:
        part.unlink()
    return target


def _write(new: Path, target: Path, parts: list[Path]) -> None:
    with pq.ParquetWriter(new, MERGED, compression="zstd") as writer:
        if target.exists():
            for batch in pq.ParquetFile(target).iter_batches(ROWS_AT_ONCE):
                writer.write_batch(batch)
        waiting: list[pa.RecordBatch] = []
        for batch in (batch for part in parts for batch in batches(part)):
            waiting.append(batch)
            if sum(len(batch) for batch in waiting) >= ROWS_AT_ONCE:
                writer.write_table(with_added(pa.Table.from_batches(waiting)))
                waiting.clear()
        if waiting:
            writer.write_table(with_added(pa.Table.from_batches(waiting)))


def batches(part: Path) -> Iterator[pa.RecordBatch]:
    """Return what one process has written, as far as it is whole: one that was killed leaves a torn end."""
    with part.open("rb") as file:
        try:
            yield from pa.ipc.open_stream(file)
        except pa.ArrowInvalid:
            return
        except OSError:
            # How Arrow tells of a batch that ends too early.
            return


def with_added(records: pa.Table) -> pa.Table:
    """Add what the mock itself did not take."""
    # A stream's mock says when it sent the first chunk, an answer's when it sent the whole.
    arrived = pc.coalesce(records["first_token_ns"], records["end_ns"])
    client = pc.subtract(arrived, records["sent_ns"])
    provider = pc.subtract(records["mock_sent_ns"], records["mock_received_ns"])
    return records.append_column(MERGED.field("added_ns"), pc.subtract(client, provider))


def any_error(folder: Path) -> bool:
    """Return whether any request so far has failed."""
    parts = folder.glob(names.PARTS)
    return any(batch["error"].null_count < len(batch) for part in parts for batch in batches(part))
