"""Writer of a worker's series to files, in the Prometheus client's format for several workers.

Each worker writes all of its series each time, so that removed series disappear; the client itself can only add series.
A file replaces its predecessor atomically, so a reader sees either the old or the new one.
"""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

from prometheus_client.mmap_dict import mmap_key
from prometheus_client.utils import floatToGoString

from litellm_evenkeel.metrics.registry.metric_types import TOTAL, Counter, Gauge, Histogram
from litellm_evenkeel.metrics.registry.series import HistogramSeries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from litellm_evenkeel.metrics.registry.families import Family, MetricStore
    from litellm_evenkeel.metrics.registry.series import Series

FILE_MARK = "evenkeel"
ALIGNMENT_BYTES = 8
ROWS_PER_WRITE = 2_000
Sums = dict[str, tuple[float, float]]
"""Value and Unix time of the last update, by series key of the Prometheus client."""
_HEAD, _LENGTH, _VALUE = struct.Struct("ii"), struct.Struct("i"), struct.Struct("dd")


@dataclass(frozen=True)
class RemovedSeries:
    """A counter or histogram that a worker has removed, with its total."""

    series: Series
    kind: str
    sums: Sums


@dataclass(frozen=True)
class PendingWrite:
    """Rows to be written, and removed series to be handed to the compactor."""

    rows: dict[str, list[bytes]] = field(default_factory=dict)
    """Encoded rows by kind of file."""
    removed: list[RemovedSeries] = field(default_factory=list)


class Compactor(Protocol):
    """Keeper of the totals of removed series."""

    def absorb(self, removed: Mapping[str, Sums], files: Mapping[Path, Sequence[bytes]]) -> bool:
        """Add removed series, atomically with the worker's own files. Return `False` if that is not possible now."""


class MultiprocessWriter:
    """Writer of one worker.

    A removed counter stays in the worker's file until a compactor absorbs it. Another worker may have a part of the
    same series, and the sum over all workers must never decrease: Prometheus would take that for a reset.
    """

    def __init__(self, store: MetricStore, folder: Path, pid: int | None = None) -> None:
        self._store, self._folder = store, folder
        # The time distinguishes a worker from an ended one with the same process id, whose totals are still needed.
        self._file_suffix = f"{FILE_MARK}-{time.time_ns()}-{os.getpid() if pid is None else pid}"
        self._keys: WeakKeyDictionary[Series, list[bytes]] = WeakKeyDictionary()
        self._removed: list[RemovedSeries] = []
        store.removal_sink = self._keep_removed

    def write(self, compactor: Compactor | None = None) -> None:
        """Write all series at once."""
        pending = PendingWrite()
        for _ in self.gather(pending):
            pass
        self.save(pending, compactor)

    def gather(self, pending: PendingWrite) -> Iterator[None]:
        """Collect what has to be written in `pending`; yield after each series, where the event loop may be left."""
        seen = set()
        for family in list(self._store.families.values()):
            rows = pending.rows.setdefault(_kind(family), [])
            for series in list(family.series.values()):
                rows.extend(self._rows(family, series))
                seen.add(series)
                yield
        with self._store.lock:
            # Series that were removed while this ran are among the rows already, and must not be counted twice.
            pending.removed.extend(removed for removed in self._removed if removed.series not in seen)

    def save(self, pending: PendingWrite, compactor: Compactor | None = None) -> None:
        """Write `pending` to the files. This may run in a thread, but not twice at a time."""
        # A cleaner of temporary folders may have removed the folder.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {self._folder / f"{kind}_{self._file_suffix}.db": rows for kind, rows in pending.rows.items()}
        sums: dict[str, Sums] = {}
        for item in pending.removed:
            add_sums(sums.setdefault(item.kind, {}), item.sums)
        if sums and compactor is not None and compactor.absorb(sums, files):
            absorbed = set(map(id, pending.removed))
            with self._store.lock:
                self._removed = [removed for removed in self._removed if id(removed) not in absorbed]
            return
        for item in pending.removed:
            pending.rows[item.kind].extend(
                encode_row(key, value, updated_at) for key, (value, updated_at) in item.sums.items()
            )
        for path, rows in files.items():
            write_unfinished(path, rows).replace(path)

    def _keep_removed(self, family: Family, series: Series) -> None:
        keys = [_key(family, name, labels) for name, labels in _samples(family, series)]
        sums = {key: (number, series.updated_at) for key, number in zip(keys, _numbers(series), strict=True)}
        self._removed.append(RemovedSeries(series, _kind(family), sums))

    def _rows(self, family: Family, series: Series) -> Iterator[bytes]:
        with self._store.lock:
            numbers, updated_at = _numbers(series), series.updated_at
        keys = self._keys.get(series)
        if keys is None:
            keys = [_encode_key(_key(family, name, labels)) for name, labels in _samples(family, series)]
            self._keys[series] = keys
        for key, number in zip(keys, numbers, strict=bool(numbers)):
            yield key + _VALUE.pack(number, updated_at)


def _numbers(series: Series) -> list[float]:
    if series.value is None:
        return []
    return [*series.counts, series.value] if isinstance(series, HistogramSeries) else [series.value]


def add_sums(sums: Sums, added: Mapping[str, tuple[float, float]]) -> None:
    """Add `added` to `sums`. The later time of two parts of a series becomes that of the sum."""
    for key, (value, updated_at) in added.items():
        old_value, old_updated_at = sums.get(key, (0.0, 0.0))
        sums[key] = old_value + value, max(old_updated_at, updated_at)


def write_unfinished(path: Path, rows: Sequence[bytes]) -> Path:
    """Write `rows` to a new file beside `path`, and return the new file's path."""
    new_path = path.with_suffix(".new")
    with new_path.open("wb", buffering=0) as file:
        file.write(_HEAD.pack(_HEAD.size + sum(map(len, rows)), 0))
        # In parts, because other threads cannot run while rows are joined.
        for start in range(0, len(rows), ROWS_PER_WRITE):
            file.write(b"".join(rows[start : start + ROWS_PER_WRITE]))
    return new_path


def encode_row(key: str, value: float, updated_at: float) -> bytes:
    """Return the encoded row of a series, given its key in the Prometheus client's format."""
    return _encode_key(key) + _VALUE.pack(value, updated_at)


def _kind(family: Family) -> str:
    return f"gauge_{family.multiprocess_mode}" if isinstance(family, Gauge) else family.kind


def _samples(family: Family, series: Series) -> Iterator[tuple[str, dict[str, str]]]:
    labels = dict(zip(family.labelnames, map(str, series.labels), strict=True))
    if isinstance(family, Histogram):
        for bound in family.bounds:
            yield f"{family.name}_bucket", {**labels, "le": floatToGoString(bound)}  # type: ignore[no-untyped-call]
        yield f"{family.name}_sum", labels
    else:
        yield f"{family.name}{TOTAL}" if isinstance(family, Counter) else family.name, labels


def _key(family: Family, name: str, labels: dict[str, str]) -> str:
    return str(mmap_key(family.name, name, list(labels), list(labels.values()), family.documentation))


def _encode_key(key: str) -> bytes:
    encoded = key.encode()
    padding = b" " * (ALIGNMENT_BYTES - (len(encoded) + _LENGTH.size) % ALIGNMENT_BYTES)
    return _LENGTH.pack(len(encoded)) + encoded + padding
