"""Recorder: writes the records of a process to its file once a second.

The format is Arrow's stream of complete batches. A killed process loses its last second. The file is locked while it
is written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from evenkeel_load.errors import LoadFailed
from evenkeel_load.records.record import FIELDS, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel_load.records.record import Record

# Few enough that writing them does not delay the next request.
MOST_AT_ONCE = 256


class Recorder:
    """Writer of a process's records."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"part-{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.arrows"
        self._rows: list[Record] = []
        self._over = False
        folder.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("wb")
        with self._writing():
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._stream = pa.ipc.new_stream(self._file, SCHEMA)
            self._file.flush()

    def add(self, record: Record) -> None:
        """Add a record."""
        self._rows.append(record)
        if len(self._rows) >= MOST_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write all records so far."""
        if self._over:
            return
        rows, self._rows = self._rows, []
        with self._writing():
            if rows:
                columns = [
                    pa.array(column, kind)
                    for column, kind in zip(zip(*rows, strict=True), FIELDS.values(), strict=True)
                ]
                self._stream.write_batch(pa.record_batch(columns, schema=SCHEMA))
            self._file.flush()

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        if not self._over:
            self._over = True
            with self._writing():
                self._stream.close()
                self._file.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """End the recording after an error of the disk. The batches before it stay complete."""
        try:
            yield
        except OSError as error:
            self._over = True
            # Else garbage collection would try to close it once more.
            with contextlib.suppress(OSError):
                self._file.close()
            raise LoadFailed(
                f"The records cannot be written to {self._path.parent}: {error.strerror}.",
                hint="Make room there, or name another folder with --records.",
            ) from error
