"""Compaction: the counters of workers that have ended are merged into one file, and their live gauges are removed.

Otherwise each restarted worker would leave files behind for ever, and a proxy may restart its workers every thousand
requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from typing import TYPE_CHECKING

from prometheus_client.mmap_dict import MmapedDict, mmap_key

from litellm_evenkeel.metrics.multiprocess.directory import process_fields
from litellm_evenkeel.metrics.multiprocess.writer import FILE_MARK, Sums, add_sums, encode_row, write_unfinished
from litellm_evenkeel.metrics.registry.label_limits import DEFAULT_MAX_VALUES, IDLE_SECONDS, UNLIMITED_VALUES
from litellm_evenkeel.metrics.self_metrics import REMOVED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

# The last group of each is the worker's process id. Live gauges may be ours or those of the Prometheus client.
LIVE_GAUGE_FILE = re.compile(rf"gauge_live\w*_(?:{FILE_MARK}-\d+-)?(\d+)\.db")
COUNTER_FILE = re.compile(rf"(counter|histogram)_{FILE_MARK}-\d+-(\d+)\.db")
UNFINISHED_FILE = re.compile(rf"\w+_{FILE_MARK}-\d+-(\d+)\.new")
UNFINISHED_SECONDS = 60.0
# Histograms come first, because the totals of retired series of either kind are kept in a counter.
KINDS = ("histogram", "counter")
REMOVED_SUFFIXES = {"_bucket": "_count"}
# The remaining steps are written to this file first. So a worker that is killed between two steps counts nothing twice.
PLAN_FILE = "evenkeel-will.json"
LOCK_FILE = "evenkeel-lock"
LOCK_TIMEOUT_SECONDS, LOCK_RETRY_SECONDS = 1.0, 0.01
# Interval of the check for series that are idle in all workers: it reads the files of all of them.
IDLE_CHECK_SECONDS = 60.0


class DeadWorkerCompactor:
    """Compactor of the files of ended workers in one folder."""

    def __init__(self, folder: Path, idle_seconds: float = IDLE_SECONDS) -> None:
        self._folder, self._idle_seconds, self._next_idle_check_at = folder, idle_seconds, 0.0

    @contextlib.asynccontextmanager
    async def read_lock(self) -> AsyncIterator[None]:
        """Prevent compaction while files are read. Continue without the lock after `LOCK_TIMEOUT_SECONDS`."""
        ends = time.monotonic() + LOCK_TIMEOUT_SECONDS
        while True:
            with self._locked(is_exclusive=False) as is_locked:
                if is_locked or time.monotonic() >= ends:
                    yield
                    return
            await asyncio.sleep(LOCK_RETRY_SECONDS)

    def compact(self) -> None:
        """Merge the files of all ended workers, unless another process does so or reads the files."""
        for path in self._folder.glob("gauge_live*.db"):
            match = LIVE_GAUGE_FILE.fullmatch(path.name)
            if match and not _is_alive(int(match[1])):
                path.unlink(missing_ok=True)
        with self._locked(is_exclusive=True) as is_locked:
            if is_locked:
                self._remove_unfinished()
                self._execute_plan()
                self._write_plan({}, {})
                self._execute_plan()

    def absorb(self, removed: Mapping[str, Sums], files: Mapping[Path, Sequence[bytes]]) -> bool:
        """Add the totals of series that a live worker removed to the compacted file, atomically with its own files.

        Return `False` if another process holds the lock, and nothing was done.
        """
        with self._locked(is_exclusive=True) as is_locked:
            if is_locked:
                self._execute_plan()
                self._write_plan(removed, files)
                # A written plan is executed now or by the next process, so the caller must not submit it again.
                with contextlib.suppress(OSError):
                    self._execute_plan()
            return is_locked

    def _remove_unfinished(self) -> None:
        """Remove the unfinished files of workers that were killed while they wrote them."""
        for path in self._folder.glob("*.new"):
            match = UNFINISHED_FILE.fullmatch(path.name)
            with contextlib.suppress(FileNotFoundError):
                if match and not _is_alive(int(match[1])) and time.time() - path.stat().st_mtime > UNFINISHED_SECONDS:
                    path.unlink()

    def _write_plan(self, removed: Mapping[str, Sums], files: Mapping[Path, Sequence[bytes]]) -> None:
        """Write new files with the merged totals, and a plan with the steps that put them into effect."""
        renamed = {write_unfinished(path, rows).name: path.name for path, rows in files.items()}
        retired: dict[str, float] = {}
        obsolete: list[str] = []
        checks_idle = time.monotonic() >= self._next_idle_check_at
        if checks_idle:
            self._next_idle_check_at = time.monotonic() + IDLE_CHECK_SECONDS
        for kind in KINDS:
            dead, removed_sums = sorted(self._files(kind, of_live_workers=False)), removed.get(kind, {})
            # A killed worker may have left histograms only, and their retired totals still need a counter file.
            if not (dead or removed_sums or checks_idle or (kind == "counter" and retired)):
                continue
            compacted = self._folder / f"{kind}_{FILE_MARK}-together.db"
            sums = _read_sums([compacted, *dead])
            add_sums(sums, removed_sums)
            idle = self._pop_idle(kind, sums) if checks_idle else {}
            retired.update(idle)
            if not (dead or removed_sums or idle or (kind == "counter" and retired)):
                continue
            obsolete += [path.name for path in dead]
            if kind == "counter":
                for name, total in retired.items():
                    key = mmap_key(REMOVED.base_name, REMOVED.full_name, list(REMOVED.labels), [name], REMOVED.help)
                    add_sums(sums, {key: (total, time.time())})
            rows = [encode_row(key, value, updated_at) for key, (value, updated_at) in sums.items()]
            renamed[write_unfinished(compacted, rows).name] = compacted.name
        if renamed:
            new = self._folder / f"{PLAN_FILE}.new"
            new.write_text(json.dumps({"renamed": renamed, "left": obsolete}), encoding="utf-8")
            new.replace(self._folder / PLAN_FILE)

    def _execute_plan(self) -> None:
        """Execute the written plan, if there is one, from any point at which an earlier attempt was interrupted."""
        plan_path = self._folder / PLAN_FILE
        try:
            plan = json.loads(plan_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        for new, name in plan["renamed"].items():
            with contextlib.suppress(FileNotFoundError):
                (self._folder / new).replace(self._folder / name)
        for name in plan["left"]:
            (self._folder / name).unlink(missing_ok=True)
        plan_path.unlink()

    def _files(self, kind: str, *, of_live_workers: bool) -> list[Path]:
        matches = [COUNTER_FILE.fullmatch(path.name) for path in self._folder.glob(f"{kind}_{FILE_MARK}-*.db")]
        return [self._folder / match[0] for match in matches if match and _is_alive(int(match[2])) is of_live_workers]

    def _pop_idle(self, kind: str, sums: Sums) -> Mapping[str, float]:
        """Remove idle series with a limited label from `sums`; return their totals by exported name."""
        idle = {
            key
            for key, (_, updated_at) in sums.items()
            if time.time() - updated_at >= self._idle_seconds and _has_limited_label(key)
        }
        if idle:
            # A live worker still exports its part of a series, and without the rest that would look like a reset.
            idle -= _read_sums(self._files(kind, of_live_workers=True)).keys()
        retired: dict[str, float] = {}
        for key in idle:
            value, _ = sums.pop(key)
            family, sample_name, _, _ = json.loads(key)
            suffix = sample_name.removeprefix(family)
            name = f"{family}{REMOVED_SUFFIXES.get(suffix, suffix)}"
            retired[name] = retired.get(name, 0.0) + value
        return retired

    @contextlib.contextmanager
    def _locked(self, *, is_exclusive: bool) -> Iterator[bool]:
        """Try to lock the folder without waiting; yield whether it is locked.

        If locks are not available, readers go on and nothing is compacted.
        """
        try:
            import fcntl  # noqa: PLC0415 - some systems do not have it

            lock = (self._folder / LOCK_FILE).open("ab")
        except (ImportError, OSError):
            # Without locks, or if the folder is not writable, scrapes return the files as they are.
            yield not is_exclusive
            return
        with lock:
            try:
                fcntl.flock(lock, (fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def _read_sums(paths: list[Path]) -> Sums:
    sums: Sums = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            rows = MmapedDict.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
            add_sums(sums, {key: (value, updated_at) for key, value, updated_at, _ in rows})
    return sums


def _has_limited_label(key: str) -> bool:
    """Return whether a series has a value of a label that clients choose, of which there may be any number."""
    _, _, labels, _ = json.loads(key)
    return any(labels.get(label, "") not in UNLIMITED_VALUES for label in DEFAULT_MAX_VALUES)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A zombie has ended, but its parent has not collected its status, which may take minutes.
    return process_fields(pid)[:1] != ["Z"]
