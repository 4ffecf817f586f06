"""Records on their way to disk: a file for each process, written once a second.

The format is Arrow's stream: batch after batch, each whole. A process that is killed leaves all but its last second.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evenkeel_load.record import FIELDS, SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".arrows"
# Few enough that writing them does not make the next request late.
MOST_AT_ONCE = 256


class Recorder:
    """The file of one process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"part-{socket.gethostname()}-{os.getpid()}{SUFFIX}"
        number = 0
        while path.exists():
            number += 1
            path = folder / f"part-{socket.gethostname()}-{os.getpid()}-{number}{SUFFIX}"
        self._file = path.open("wb")
        self._stream = pa.ipc.new_stream(self._file, SCHEMA)
        self._rows: list[tuple[Any, ...]] = []
        self.flush()

    def add(self, row: tuple[Any, ...]) -> None:
        """Remember a request: the fields of `SCHEMA`, in their order."""
        self._rows.append(row)
        if len(self._rows) >= MOST_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what there is."""
        rows, self._rows = self._rows, []
        if rows:
            columns = [
                pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), FIELDS.values(), strict=True)
            ]
            self._stream.write_batch(pa.record_batch(columns, schema=SCHEMA))
        self._file.flush()

    def close(self) -> None:
        """Write the rest, and the end."""
        self.flush()
        self._stream.close()
        self._file.close()
