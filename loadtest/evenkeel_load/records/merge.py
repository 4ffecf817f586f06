"""Merge the records of all processes into `records.parquet`.

A file that could not be read completely is never removed, and nothing is merged twice: the merged file lists its parts.
"""

from __future__ import annotations

import fcntl
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkeel_load.errors import LoadConfigError, LoadFailed
from evenkeel_load.records import folder as names
from evenkeel_load.records.record import MERGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ROWS_AT_ONCE = 100_000
PARTS_OF = b"evenkeel.parts"
# Arrow's errors for a file that is no stream, and for an incomplete batch.
TORN = (pa.ArrowInvalid, OSError)


def merge(folder: Path) -> Path:
    """Merge the files of all processes and remove them. Return the merged file; an existing one is extended."""
    with names.claimed(folder):
        return merge_claimed(folder)


def merge_claimed(folder: Path) -> Path:
    """Merge in a folder that the caller has locked."""
    target = folder / names.RECORDS
    before = _merged(target)
    parts = sorted(folder.glob(names.PARTS))
    if not parts:
        if target.exists():
            return target
        raise LoadFailed(f"{folder} has no records.", hint="Nothing was sent: see its log.")
    _require_closed(parts)
    new = target.with_suffix(".new")
    try:
        merged = _write(new, target, [part for part in parts if part.name not in before], before)
        new.replace(target)
        for part in parts:
            if merged[part.name]:
                part.unlink()
            else:
                part.rename(part.with_name(f"torn-{part.name}"))
    except (pa.ArrowException, OSError) as error:
        new.unlink(missing_ok=True)
        raise LoadFailed(
            f"{folder}: the records cannot be merged: {error}.", hint="They are kept unchanged."
        ) from error
    return target


def _merged(target: Path) -> dict[str, bool]:
    """Return the parts that an earlier, killed merge has merged already, and whether completely."""
    if not target.exists():
        return {}
    try:
        parts = (pq.read_metadata(target).metadata or {}).get(PARTS_OF, b"{}")
    except (pa.ArrowException, OSError) as error:
        hint = "Restore it from a copy, or move it away: the files that it was made of were removed."
        raise LoadFailed(f"{target} cannot be read: {error}.", hint=hint) from error
    merged: dict[str, bool] = json.loads(parts)
    return merged


def _require_closed(parts: list[Path]) -> None:
    for part in parts:
        with part.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LoadConfigError(f"{part} is still being written.", hint="Wait for the load to end.") from error


def _write(new: Path, target: Path, parts: list[Path], before: dict[str, bool]) -> dict[str, bool]:
    """Write the merged file. Return its parts, and whether they are complete."""
    torn: set[Path] = set()
    with pq.ParquetWriter(new, MERGED, compression="zstd") as writer:
        if target.exists():
            for batch in pq.ParquetFile(target).iter_batches(ROWS_AT_ONCE):
                writer.write_table(pa.Table.from_batches([batch]))
        waiting: list[pa.RecordBatch] = []
        for batch in _batches(parts, torn):
            waiting.append(batch)
            if sum(len(batch) for batch in waiting) >= ROWS_AT_ONCE:
                writer.write_table(with_added(pa.Table.from_batches(waiting)))
                waiting.clear()
        if waiting:
            writer.write_table(with_added(pa.Table.from_batches(waiting)))
        merged = before | {part.name: part not in torn for part in parts}
        writer.add_key_value_metadata({PARTS_OF: json.dumps(merged)})
    return merged


def _batches(parts: Iterable[Path], torn: set[Path]) -> Iterator[pa.RecordBatch]:
    """Yield the complete batches of all files. A killed process leaves an incomplete one, whose file goes to `torn`."""
    for part in parts:
        with part.open("rb") as file:
            try:
                yield from pa.ipc.open_stream(file)
            except TORN:
                torn.add(part)


def with_added(records: pa.Table) -> pa.Table:
    """Add the column `added_ns`: the latency without the mock's own time."""
    # The mock's time of sending is that of the first chunk of a stream, or of a whole answer.
    arrived = pc.coalesce(records["first_token_ns"], records["end_ns"])
    client = pc.subtract(arrived, records["sent_ns"])
    provider = pc.subtract(records["mock_sent_ns"], records["mock_received_ns"])
    return records.append_column(MERGED.field("added_ns"), pc.subtract(client, provider))


def any_error(folder: Path) -> bool:
    """Return whether any request so far has failed."""
    return any(batch["error"].null_count < len(batch) for batch in _batches(folder.glob(names.PARTS), set()))
