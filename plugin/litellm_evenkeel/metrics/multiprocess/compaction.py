"""What workers have left behind: what they counted stays, together in one file; what the dead said of now goes.

Each worker that begins anew would leave files of its own for ever, and a proxy may have its workers begin anew every
thousand requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client.mmap_dict import MmapedDict, mmap_key

from litellm_evenkeel.metrics.multiprocess.writer import MARK, Sums, add, row, unfinished
from litellm_evenkeel.metrics.registry.label_limits import IDLE_SECONDS, NOBODYS, USUAL
from litellm_evenkeel.metrics.self_metrics import RETIRED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

# Of gauges of the living, ours and those of Prometheus' own client, and whose they are.
LIVING = re.compile(rf"gauge_live\w*_(?:{MARK}-\d+-)?(\d+)\.db")
COUNTED = re.compile(rf"(counter|histogram)_{MARK}-\d+-(\d+)\.db")
UNFINISHED = re.compile(rf"\w+_{MARK}-\d+-(\d+)\.new")
UNFINISHED_SECONDS = 60.0
# Histograms first: what is retired of either is a counter.
KINDS = ("histogram", "counter")
SUFFIXES = {"_bucket": "_count"}
# What is to be done yet, written down before it is begun: whoever is killed meanwhile has not counted anything twice.
PLAN = "evenkeel-will.json"
LOCK = "evenkeel-lock"
PATIENCE_SECONDS, AGAIN_SECONDS = 1.0, 0.01
# How often it is looked whether all workers have been silent about a series: all their files are read for that.
LOOKED_EVERY_SECONDS = 60.0


class DeadWorkerCompactor:
    """Those of the workers that share a folder."""

    def __init__(self, folder: Path, idle: float = IDLE_SECONDS) -> None:
        self._folder, self._idle, self._looks_at = folder, idle, 0.0

    @contextlib.asynccontextmanager
    async def read_lock(self) -> AsyncIterator[None]:
        """Have nobody bury anything meanwhile. Whoever takes too long about it is not waited for."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self._locked(is_alone=False) as is_locked:
                if is_locked or time.monotonic() >= ends:
                    yield
                    return
            await asyncio.sleep(AGAIN_SECONDS)

    def compact(self) -> None:
        """Do it for all that have died, unless somebody else does it, or reads."""
        for path in self._folder.glob("gauge_live*.db"):
            found = LIVING.fullmatch(path.name)
            if found and not _is_alive(int(found[1])):
                path.unlink(missing_ok=True)
        with self._locked(is_alone=True) as is_locked:
            if is_locked:
                self._tidy_up()
                self._execute()
                self._write_plan({}, {})
                self._execute()

    def absorb(self, left: Mapping[str, Sums], files: Mapping[Path, Sequence[bytes]]) -> bool:
        """Put what a living worker has let go to what the dead have counted, in one step with its own files."""
        with self._locked(is_alone=True) as is_locked:
            if is_locked:
                self._execute()
                self._write_plan(left, files)
                # What is written down is done, now or by whoever comes next: it must not be inherited a second time.
                with contextlib.suppress(OSError):
                    self._execute()
            return is_locked

    def _tidy_up(self) -> None:
        """Remove what workers were writing when they were killed."""
        for path in self._folder.glob("*.new"):
            found = UNFINISHED.fullmatch(path.name)
            with contextlib.suppress(FileNotFoundError):
                if found and not _is_alive(int(found[1])) and time.time() - path.stat().st_mtime > UNFINISHED_SECONDS:
                    path.unlink()

    def _write_plan(self, inherited: Mapping[str, Sums], files: Mapping[Path, Sequence[bytes]]) -> None:
        """Have what nobody counts any more together in new files, and say what is to be done with them."""
        renamed = {unfinished(path, rows).name: path.name for path, rows in files.items()}
        retired: dict[str, float] = {}
        left: list[str] = []
        is_looking = time.monotonic() >= self._looks_at
        if is_looking:
            self._looks_at = time.monotonic() + LOOKED_EVERY_SECONDS
        for kind in KINDS:
            dead, mine = sorted(self._dead(kind)), inherited.get(kind, {})
            # A worker that was killed may have left histograms only.
            if not (dead or mine or is_looking or (kind == "counter" and retired)):
                continue
            together = self._folder / f"{kind}_{MARK}-together.db"
            sums = _added([together, *dead])
            add(sums, mine)
            gone = self._without_the_silent(kind, sums) if is_looking else {}
            retired.update(gone)
            if not (dead or mine or gone or (kind == "counter" and retired)):
                continue
            left += [path.name for path in dead]
            if kind == "counter":
                _add_retired(sums, retired)
            rows = [row(key, value, at) for key, (value, at) in sums.items()]
            renamed[unfinished(together, rows).name] = together.name
        if renamed:
            new = self._folder / f"{PLAN}.new"
            new.write_text(json.dumps({"renamed": renamed, "left": left}), encoding="utf-8")
            new.replace(self._folder / PLAN)

    def _execute(self) -> None:
        """Do what is written down, wherever whoever began with it was interrupted."""
        will = self._folder / PLAN
        try:
            told = json.loads(will.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        for new, name in told["renamed"].items():
            with contextlib.suppress(FileNotFoundError):
                (self._folder / new).replace(self._folder / name)
        for name in told["left"]:
            (self._folder / name).unlink(missing_ok=True)
        will.unlink()

    def _dead(self, kind: str) -> list[Path]:
        return [path for path, is_alive in self._counted(kind) if not is_alive]

    def _living(self, kind: str) -> list[Path]:
        return [path for path, is_alive in self._counted(kind) if is_alive]

    def _counted(self, kind: str) -> Iterator[tuple[Path, bool]]:
        for path in self._folder.glob(f"{kind}_{MARK}-*.db"):
            found = COUNTED.fullmatch(path.name)
            if found:
                yield path, _is_alive(int(found[2]))

    def _without_the_silent(self, kind: str, sums: Sums) -> Mapping[str, float]:
        """Take away what nobody has heard of for long, where there is no end of names; return what that came to."""
        silent = {key for key, (_, at) in sums.items() if time.time() - at >= self._idle and _is_of_many(key)}
        if silent:
            # What a living worker still tells stays as a whole, or it would seem to begin anew.
            silent -= _added(self._living(kind)).keys()
        retired: dict[str, float] = {}
        for key in silent:
            value, _ = sums.pop(key)
            family, name, _, _ = json.loads(key)
            suffix = name.removeprefix(family)
            told = f"{family}{SUFFIXES.get(suffix, suffix)}"
            retired[told] = retired.get(told, 0.0) + value
        return retired

    @contextlib.contextmanager
    def _locked(self, *, is_alone: bool) -> Iterator[bool]:
        try:
            import fcntl  # noqa: PLC0415 - there are systems that have none
        except ImportError:
            yield not is_alone
            return
        try:
            lock = (self._folder / LOCK).open("ab")
        except OSError:
            # Nobody writes there: nothing is buried, and scrapes are answered with what is there.
            yield not is_alone
            return
        with lock:
            try:
                fcntl.flock(lock, (fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def _added(paths: list[Path]) -> Sums:
    sums: Sums = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            found = MmapedDict.read_all_values_from_file(str(path))  # type: ignore[no-untyped-call]
            for key, value, at, _ in found:
                add(sums, {key: (value, at)})
    return sums


def _is_of_many(key: str) -> bool:
    """Whether a series is of somebody of whom there may be any number."""
    _, _, labels, _ = json.loads(key)
    return any(labels.get(label, "") not in NOBODYS for label in USUAL)


def _add_retired(sums: Sums, retired: Mapping[str, float]) -> None:
    for name, amount in retired.items():
        key = mmap_key(RETIRED.base_name, RETIRED.full_name, list(RETIRED.labels), [name], RETIRED.help)
        sums[key] = sums.get(key, (0.0, 0.0))[0] + amount, time.time()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended and its parent has not asked how: a supervisor may take minutes for that."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    # Its name stands in brackets, and may hold anything.
    return told.rpartition(")")[2].split()[:1] == ["Z"]
