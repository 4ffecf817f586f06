"""The two folders that the lab writes to: a temporary folder for each stack, and the user's cache folder."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
import psutil

from evenkeel_lab.errors import DISK_FULL_HINT, DiskFull, RigFailure, WrongUse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FOLDER_CLEANUP = Path(__file__).parent / "processes" / "folder_cleanup.py"
NOBODY = 65534
STACK_MIB = 300
ENVIRONMENT_MIB = 1500
LOG_FOLDERS_KEPT = 20
POLL_SECONDS = 0.02
# Folders that the lab creates in the cache folder, and may remove.
CACHE_PATTERNS = (
    *("subjects", "plugins", "wheels", "matrix", "npm", "logs", "boots"),
    *("engine-*", "schema-engine-*", "node-*", "decoys-*", "prisma-home-*"),
)
IN_USE = ".in-use"


def cache_path() -> Path:
    """Return the path of the cache folder, for environments, the engine and logs. It may not exist."""
    named = os.environ.get("EVENKEEL_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("litellm-evenkeel")


def cache_folder() -> Path:
    """Return the cache folder; create it if it does not exist."""
    folder = cache_path()
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def server_uid() -> int | None:
    """Return an unprivileged user id if this process is root, because Postgres refuses root; else `None`."""
    return NOBODY if os.geteuid() == 0 else None


def traversable(folder: Path, uid: int | None) -> bool:
    """Return whether a process of user `uid`, or of this user if `None`, can enter the folder."""
    if uid is None:
        return os.access(folder, os.X_OK)
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (folder, *folder.parents))


def temporary_parent(uid: int | None) -> Path:
    """Return the first temporary folder that user `uid` can enter."""
    candidates = dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")))  # noqa: S108
    for candidate in candidates:
        resolved = candidate.resolve()
        if resolved.is_dir() and os.access(resolved, os.W_OK) and traversable(resolved, uid):
            return resolved
    raise RigFailure(
        f"User {uid} cannot enter any temporary folder.", hint="Set TMPDIR to a folder that all users may enter."
    )


def require_room(folder: Path, mib: int) -> None:
    """Raise `DiskFull` unless the disk of `folder` has `mib` MiB of free space."""
    free = shutil.disk_usage(folder).free // 2**20
    if free < mib:
        raise DiskFull(
            f"The disk of {folder} has {free} MiB left, {mib} MiB are needed.",
            hint=DISK_FULL_HINT,
        )


@contextlib.asynccontextmanager
async def stack_folder() -> AsyncIterator[Path]:
    """Create a folder for one stack. It is removed afterwards, also if this process is killed."""
    parent = temporary_parent(server_uid())
    require_room(parent, STACK_MIB)
    folder = Path(tempfile.mkdtemp(prefix="evenkeel-", dir=parent))
    try:
        folder.chmod(0o711)  # The servers' user must pass through it, but need not list it.
        cleanup = subprocess.Popen(  # noqa: ASYNC220 - an interruption in between would leave the folder
            [sys.executable, "-I", "-S", FOLDER_CLEANUP, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    except BaseException:
        folder.rmdir()
        raise
    assert cleanup.stdin is not None
    try:
        yield folder
    finally:
        cleanup.stdin.close()
        while cleanup.poll() is None:
            await asyncio.sleep(POLL_SECONDS)


def log_folder() -> Path:
    """Create a folder for the logs of one stack, and remove the oldest log folders of stacks that have ended."""
    logs = cache_folder() / "logs"
    folder = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    with _writing_to(folder):
        logs.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(exist_ok=True)
    for old in sorted(logs.iterdir())[:-LOG_FOLDERS_KEPT]:
        pid = old.name.rpartition("-")[2]
        if not (pid.isdecimal() and psutil.pid_exists(int(pid))):
            shutil.rmtree(old, ignore_errors=True)
    return folder


@contextlib.asynccontextmanager
async def create_once(folder: Path) -> AsyncIterator[Path | None]:
    """Create a cache folder in one process at a time. Yield the empty folder, or `None` if it is complete already.

    The folder is complete once the block ends without an error.
    """
    done = folder / ".complete"
    if done.exists():
        yield None
        return
    with _writing_to(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder.with_name(folder.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        await _acquired([lock], 1)
        if done.exists():
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)
        with _writing_to(folder):
            folder.mkdir()
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        done.touch()
    finally:
        os.close(lock)


@contextlib.asynccontextmanager
async def turn_to_boot(processes: int = 1) -> AsyncIterator[None]:
    """Wait until cores are free for the processes of a proxy that boots, and occupy them during the block.

    A boot needs a whole core for each process. If many run at once on this cache, none finishes in time.
    """
    folder = cache_folder() / "boots"
    with _writing_to(folder):
        folder.mkdir(exist_ok=True)
        locks = [
            os.open(folder / f"{number}.lock", os.O_CREAT | os.O_RDWR, 0o600) for number in range(os.cpu_count() or 1)
        ]
    try:
        await _acquired(locks, min(processes, len(locks)))
        yield
    finally:
        for lock in locks:
            os.close(lock)


async def _acquired(locks: list[int], number: int) -> None:
    """Acquire that number of the locks by polling, so that the wait can be cancelled. Hold none while waiting."""
    while True:
        held: list[int] = []
        for lock in locks:
            if len(held) < number:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held.append(lock)
        if len(held) == number:
            return
        for lock in held:
            fcntl.flock(lock, fcntl.LOCK_UN)
        await asyncio.sleep(POLL_SECONDS)


@contextlib.contextmanager
def cache_in_use() -> Iterator[None]:
    """Prevent `clear` from removing the cache during the block."""
    lock = os.open(cache_folder() / IN_USE, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def clear(folder: Path) -> list[Path]:
    """Remove the lab's folders from the cache folder. Return those that could not be removed."""
    lock = os.open(folder / IN_USE, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in kept(folder):
            shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        raise WrongUse("A stack is running on this cache.", hint="Stop it first.") from None
    finally:
        os.close(lock)
    return kept(folder)


def kept(folder: Path) -> list[Path]:
    """Return the lab's folders in the cache folder."""
    return sorted(path for pattern in CACHE_PATTERNS for path in folder.glob(pattern) if path.is_dir())


@contextlib.contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Replace an `OSError` of the block by `DiskFull` or `RigFailure`."""
    try:
        yield
    except OSError as error:
        what = f"Cannot write to {folder}: {error.strerror}."
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(what, hint=DISK_FULL_HINT) from error
        hint = "Set EVENKEEL_CACHE (environments, logs) or TMPDIR (stacks) to a folder that you may write to."
        raise RigFailure(what, hint=hint) from error
