"""Series in files, as Prometheus' client has them where several workers answer scrapes for each other.

Each worker writes all it has, anew each time, so that what was retired is gone; the client's own way can only add. A
file takes the place of the one before in one step: whoever reads sees the one or the other.
"""

from __future__ import annotations

import os
import struct
import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from prometheus_client.mmap_dict import mmap_key
from prometheus_client.utils import floatToGoString

from litellm_evenkeel.metrics.children import HistogramChild
from litellm_evenkeel.metrics.families import TOTAL, Counter, Family, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from litellm_evenkeel.metrics.children import Child
    from litellm_evenkeel.metrics.families import Store

MARK = "evenkeel"
ALIGNED = 8
Rows = dict[str, list[bytes]]
"""By kind of file."""
_HEAD, _LENGTH, _VALUE = struct.Struct("ii"), struct.Struct("i"), struct.Struct("dd")


class Files:
    """Those of one worker."""

    def __init__(self, store: Store, folder: Path, pid: int | None = None) -> None:
        self._store, self._folder = store, folder
        # A worker may get the number of one that has died, whose counts still count.
        self._mine = f"{MARK}-{time.time_ns()}-{os.getpid() if pid is None else pid}"
        self._keys: WeakKeyDictionary[Child, list[bytes]] = WeakKeyDictionary()

    def write(self) -> None:
        """Write all that there is, at once."""
        found: Rows = {}
        for _ in self.gather(found):
            pass
        self.save(found)

    def gather(self, found: Rows) -> Iterator[None]:
        """Find what is to be written; yields where others may have the loop, so that nobody waits for it."""
        for family in list(self._store.families.values()):
            rows = found.setdefault(_kind(family), [])
            for child in list(family.children.values()):
                rows.extend(self._rows(family, child))
                yield

    def save(self, found: Rows) -> None:
        """Write what was found; may be done beside the loop, once at a time."""
        # Whoever tidies up temporary folders may have taken it for a forgotten one.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind, rows in found.items():
            path = self._folder / f"{kind}_{self._mine}.db"
            beside = path.with_suffix(".new")
            beside.write_bytes(image(rows))
            beside.replace(path)

    def _rows(self, family: Family, child: Child) -> Iterator[bytes]:
        with self._store.lock:
            value, at = child.value, child.at
            counts = list(child.counts) if isinstance(child, HistogramChild) else []
        if value is None:
            return
        keys = self._keys.get(child)
        if keys is None:
            keys = self._keys[child] = [_key(family, name, labels) for name, labels in _samples(family, child)]
        for key, number in zip(keys, [*counts, value], strict=True):
            yield key + _VALUE.pack(number, at)


def image(rows: Iterable[bytes]) -> bytes:
    """Return what a file of these rows is."""
    data = b"".join(rows)
    return _HEAD.pack(_HEAD.size + len(data), 0) + data


def row(key: str, value: float, at: float) -> bytes:
    """Return the row of a series, as Prometheus' client names it."""
    return _padded(key) + _VALUE.pack(value, at)


def _kind(family: Family) -> str:
    return f"gauge_{family.mode}" if isinstance(family, Gauge) else family.kind


def _samples(family: Family, child: Child) -> Iterator[tuple[str, dict[str, str]]]:
    labels = dict(zip(family.labelnames, map(str, child.labels), strict=True))
    if isinstance(family, Histogram):
        for bound in family.bounds:
            yield f"{family.name}_bucket", {**labels, "le": floatToGoString(bound)}  # type: ignore[no-untyped-call]
        yield f"{family.name}_sum", labels
    else:
        yield f"{family.name}{TOTAL}" if isinstance(family, Counter) else family.name, labels


def _key(family: Family, name: str, labels: dict[str, str]) -> bytes:
    return _padded(mmap_key(family.name, name, list(labels), list(labels.values()), family.about))


def _padded(key: str) -> bytes:
    told = key.encode()
    return _LENGTH.pack(len(told)) + told + b" " * (ALIGNED - (len(told) + _LENGTH.size) % ALIGNED)
