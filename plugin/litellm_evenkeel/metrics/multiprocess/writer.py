"""Series in files, as Prometheus' client has them where several workers answer scrapes for each other.

Each worker writes all it has, anew each time, so that what was retired is gone; the client's own way can only add. A
file takes the place of the one before in one step: whoever reads sees the one or the other.
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

from litellm_evenkeel.metrics.registry.children import HistogramChild
from litellm_evenkeel.metrics.registry.metric_types import TOTAL, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from litellm_evenkeel.metrics.registry.children import Child
    from litellm_evenkeel.metrics.registry.families import Family, MetricStore

MARK = "evenkeel"
ALIGNED = 8
AT_ONCE = 2_000
Rows = dict[str, list[bytes]]
"""By kind of file."""
Sums = dict[str, tuple[float, float]]
"""By series, as Prometheus' client names it: how much, and when it was heard of last."""
_HEAD, _LENGTH, _VALUE = struct.Struct("ii"), struct.Struct("i"), struct.Struct("dd")


@dataclass(frozen=True)
class RemovedSeries:
    """A counter or histogram that a worker has let go, and what it had come to."""

    child: Child
    kind: str
    sums: Sums


@dataclass(frozen=True)
class PendingWrite:
    """All that is to be written."""

    rows: Rows = field(default_factory=dict)
    removed: list[RemovedSeries] = field(default_factory=list)


class Compactor(Protocol):
    """Who takes in what a worker has let go."""

    def absorb(self, left: Mapping[str, Sums], files: Mapping[Path, Sequence[bytes]]) -> bool:
        """Do it in one step with the worker's own files; return whether that can be done now."""


class MultiprocessWriter:
    """Those of one worker.

    A counter that it has let go stays with it until an heir takes it in: another worker may have a part of the same
    series, and what all of them have together must never become less while anybody can see it.
    """

    def __init__(self, store: MetricStore, folder: Path, pid: int | None = None) -> None:
        self._store, self._folder = store, folder
        # A worker may get the number of one that has died, whose counts still count.
        self._mine = f"{MARK}-{time.time_ns()}-{os.getpid() if pid is None else pid}"
        self._keys: WeakKeyDictionary[Child, list[bytes]] = WeakKeyDictionary()
        self._left: list[RemovedSeries] = []
        store.removal_sink = self._keep

    def write(self, heir: Compactor | None = None) -> None:
        """Write all that there is, at once."""
        found = PendingWrite()
        for _ in self.gather(found):
            pass
        self.save(found, heir)

    def gather(self, found: PendingWrite) -> Iterator[None]:
        """Find what is to be written; yields where others may have the loop, so that nobody waits for it."""
        seen = set()
        for family in list(self._store.families.values()):
            rows = found.rows.setdefault(_kind(family), [])
            for child in list(family.children.values()):
                rows.extend(self._rows(family, child))
                seen.add(child)
                yield
        with self._store.lock:
            # What was let go meanwhile has been found already.
            found.removed.extend(one for one in self._left if one.child not in seen)

    def save(self, found: PendingWrite, heir: Compactor | None = None) -> None:
        """Write what was found; may be done beside the loop, once at a time."""
        # Whoever tidies up temporary folders may have taken it for a forgotten one.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {self._folder / f"{kind}_{self._mine}.db": rows for kind, rows in found.rows.items()}
        if found.removed and heir is not None and heir.absorb(_together(found.removed), files):
            taken = set(map(id, found.removed))
            with self._store.lock:
                self._left = [one for one in self._left if id(one) not in taken]
            return
        for one in found.removed:
            found.rows[one.kind].extend(row(key, value, at) for key, (value, at) in one.sums.items())
        for path, rows in files.items():
            unfinished(path, rows).replace(path)

    def _keep(self, family: Family, child: Child) -> None:
        keys = [_key(family, name, labels) for name, labels in _samples(family, child)]
        sums = {key: (number, child.at) for key, number in zip(keys, _numbers(child), strict=True)}
        self._left.append(RemovedSeries(child, _kind(family), sums))

    def _rows(self, family: Family, child: Child) -> Iterator[bytes]:
        with self._store.lock:
            numbers, at = _numbers(child), child.at
        keys = self._keys.get(child)
        if keys is None:
            keys = self._keys[child] = [_padded(_key(family, name, labels)) for name, labels in _samples(family, child)]
        for key, number in zip(keys, numbers, strict=bool(numbers)):
            yield key + _VALUE.pack(number, at)


def _numbers(child: Child) -> list[float]:
    if child.value is None:
        return []
    return [*child.counts, child.value] if isinstance(child, HistogramChild) else [child.value]


def _together(left: Iterable[RemovedSeries]) -> dict[str, Sums]:
    found: dict[str, Sums] = {}
    for one in left:
        add(found.setdefault(one.kind, {}), one.sums)
    return found


def add(sums: Sums, others: Mapping[str, tuple[float, float]]) -> None:
    """Add others to sums; of two parts of a series, the one that was heard of later says when that was."""
    for key, (value, at) in others.items():
        before, heard = sums.get(key, (0.0, 0.0))
        sums[key] = before + value, max(heard, at)


def unfinished(path: Path, rows: Sequence[bytes]) -> Path:
    """Write a file beside where it is going to be; return where it lies."""
    beside = path.with_suffix(".new")
    with beside.open("wb", buffering=0) as file:
        file.write(_HEAD.pack(_HEAD.size + sum(map(len, rows)), 0))
        # Some at a time, for nobody else has a turn while they are joined.
        for start in range(0, len(rows), AT_ONCE):
            file.write(b"".join(rows[start : start + AT_ONCE]))
    return beside


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


def _key(family: Family, name: str, labels: dict[str, str]) -> str:
    return str(mmap_key(family.name, name, list(labels), list(labels.values()), family.about))


def _padded(key: str) -> bytes:
    told = key.encode()
    return _LENGTH.pack(len(told)) + told + b" " * (ALIGNED - (len(told) + _LENGTH.size) % ALIGNED)
