"""The only two places where the lab writes: a temporary folder for each stack, and the user's cache folder."""

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

from evenkeel_lab.errors import DISK_FULL_HINT, DiskFull, RigFailure, WrongUse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

JANITOR = Path(__file__).parent / "processes" / "folder_cleanup.py"
NOBODY = 65534
STACK_MIB = 300
ENVIRONMENT_MIB = 1500
LOG_FOLDERS_KEPT = 20
POLL_SECONDS = 0.02
# What the lab makes in the cache folder, and so may remove from it.
OURS = (
    *("subjects", "plugins", "wheels", "matrix", "npm", "logs"),
    *("engine-*", "schema-engine-*", "node-*", "decoys-*", "prisma-home-*"),
)
IN_USE = ".in-use"


def cache_path() -> Path:
    """Return where what is worth keeping between runs lies, or would: environments, the engine, logs."""
    named = os.environ.get("EVENKEEL_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("litellm-evenkeel")


def cache_folder() -> Path:
    """Return that folder, made if need be."""
    folder = cache_path()
    with _room_for(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def server_uid() -> int | None:
    """Return whom Postgres runs as: nobody where we are root, because it refuses root; else ourselves."""
    return NOBODY if os.geteuid() == 0 else None


def traversable(folder: Path, uid: int | None) -> bool:
    """Whether a process of that user can reach what lies in the folder."""
    if uid is None:
        return os.access(folder, os.X_OK)
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (folder, *folder.parents))


def temporary_parent(uid: int | None) -> Path:
    """Return the first temporary folder that the servers' user can reach."""
    candidates = dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")))  # noqa: S108
    for candidate in candidates:
        resolved = candidate.resolve()
        if resolved.is_dir() and os.access(resolved, os.W_OK) and traversable(resolved, uid):
            return resolved
    raise RigFailure(
        f"No temporary folder that user {uid} can reach.", hint="Set TMPDIR to one that everybody may enter."
    )


def require_room(folder: Path, mib: int) -> None:
    """Raise unless the disk of the folder has so much room left."""
    free = shutil.disk_usage(folder).free // 2**20
    if free < mib:
        raise DiskFull(
            f"The disk of {folder} has {free} MiB left, {mib} MiB are needed.",
            hint=DISK_FULL_HINT,
        )


@contextlib.asynccontextmanager
async def stack_folder() -> AsyncIterator[Path]:
    """Make a folder for one stack; it is removed afterwards, also when this process is killed."""
    parent = temporary_parent(server_uid())
    require_room(parent, STACK_MIB)
    folder = Path(tempfile.mkdtemp(prefix="evenkeel-", dir=parent))
    folder.chmod(0o711)  # passable, not readable: the servers' user has to get to its own part of it
    janitor = subprocess.Popen(  # noqa: ASYNC220 - nothing may come between the folder and its janitor
        [sys.executable, "-I", "-S", JANITOR, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert janitor.stdin is not None
    try:
        yield folder
    finally:
        janitor.stdin.close()
        while janitor.poll() is None:
            await asyncio.sleep(POLL_SECONDS)


def log_folder() -> Path:
    """Make a folder for the logs of one stack, which are kept; the oldest folders go."""
    logs = cache_folder() / "logs"
    folder = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    with _room_for(folder):
        logs.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(exist_ok=True)
    for old in sorted(logs.iterdir())[:-LOG_FOLDERS_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


@contextlib.asynccontextmanager
async def create_once(folder: Path) -> AsyncIterator[Path | None]:
    """Let one process at a time make a folder of the cache. Gives None when it is already complete.

    What is given is empty; it counts as complete only if the block ends well.
    """
    done = folder / ".complete"
    if done.exists():
        yield None
        return
    with _room_for(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder.with_name(folder.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        await _locked(lock)
        if done.exists():
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)
        with _room_for(folder):
            folder.mkdir()
        try:
            yield folder
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        done.touch()
    finally:
        os.close(lock)


async def _locked(lock: int) -> None:
    """Wait for a lock in small steps, so that waiting can be interrupted."""
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(POLL_SECONDS)
        else:
            return


@contextlib.contextmanager
def cache_in_use() -> Iterator[None]:
    """Keep the cache from being cleared for as long as the block lasts."""
    lock = os.open(cache_folder() / IN_USE, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def clear(folder: Path) -> list[Path]:
    """Remove what the lab keeps in the cache folder, and nothing else; return what could not be removed."""
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
    """Return what the lab keeps in the cache folder."""
    return sorted(path for pattern in OURS for path in folder.glob(pattern) if path.is_dir())


@contextlib.contextmanager
def _room_for(folder: Path) -> Iterator[None]:
    """Turn the system's complaint about a full or closed disk into ours."""
    try:
        yield
    except OSError as error:
        what = f"Cannot write to {folder}: {error.strerror}."
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(what, hint=DISK_FULL_HINT) from error
        hint = "Set EVENKEEL_CACHE (environments, logs) or TMPDIR (stacks) to a folder that you may write to."
        raise RigFailure(what, hint=hint) from error
