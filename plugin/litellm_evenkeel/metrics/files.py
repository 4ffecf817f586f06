"""Series in files, as Prometheus' client has them where several workers answer scrapes for each other.

Each worker writes all it has, anew each time, so that what was retired is gone; the client's own way can only add. A
file takes the place of the one before in one step: whoever reads sees the one or the other.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from prometheus_client.mmap_dict import mmap_key
from prometheus_client.utils import floatToGoString

from litellm_evenkeel.metrics.children import HistogramChild
from litellm_evenkeel.metrics.families import TOTAL, Counter, Family, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from litellm_evenkeel.metrics.children import Child
    from litellm_evenkeel.metrics.families import Store

MARK = "evenkeel"
ALIGNED = 8
# Of gauges of the living, and whose they are.
LIVING = re.compile(rf"gauge_live\w*_(?:{MARK}-\d+-)?(\d+)\.db")
_HEAD, _LENGTH, _VALUE = struct.Struct("ii"), struct.Struct("i"), struct.Struct("dd")


class Files:
    """Those of one worker."""

    def __init__(self, store: Store, folder: Path, pid: int | None = None) -> None:
        self._store, self._folder = store, folder
        # A worker may get the number of one that has died, whose counts still count.
        self._mine = f"{MARK}-{time.time_ns()}-{os.getpid() if pid is None else pid}"
        self._keys: WeakKeyDictionary[Child, list[bytes]] = WeakKeyDictionary()

    def write(self) -> None:
        """Write all that there is; may be done beside the loop."""
        found: dict[str, list[bytes]] = {}
        for family in list(self._store.families.values()):
            with self._store.lock:
                found.setdefault(_kind(family), []).extend(self._rows(family))
        for kind, rows in found.items():
            data = b"".join(rows)
            path = self._folder / f"{kind}_{self._mine}.db"
            beside = path.with_suffix(".new")
            beside.write_bytes(_HEAD.pack(_HEAD.size + len(data), 0) + data)
            beside.replace(path)

    def bury(self) -> None:
        """Remove what workers that have died said of how they are now."""
        for path in self._folder.glob("gauge_live*.db"):
            found = LIVING.fullmatch(path.name)
            if found and not _is_alive(int(found[1])):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()

    def _rows(self, family: Family) -> Iterator[bytes]:
        for child in family.children.values():
            if child.value is None:
                continue
            keys = self._keys.get(child)
            if keys is None:
                keys = self._keys[child] = [_key(family, name, labels) for name, labels in _samples(family, child)]
            values = [*child.counts, child.value] if isinstance(child, HistogramChild) else [child.value]
            for key, value in zip(keys, values, strict=True):
                yield key + _VALUE.pack(value, child.at)


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
    key = mmap_key(family.name, name, list(labels), list(labels.values()), family.about).encode()
    return _LENGTH.pack(len(key)) + key + b" " * (ALIGNED - (len(key) + _LENGTH.size) % ALIGNED)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
