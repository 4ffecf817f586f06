"""The only two places where the lab writes: a temporary folder for each stack, and the user's cache folder."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from evenkeel_lab.errors import DISK_FULL_CURE, DiskFull, RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

JANITOR = Path(__file__).with_name("janitor.py")
NOBODY = 65534
STACK_MIB = 300
ENVIRONMENT_MIB = 1500
LOG_FOLDERS_KEPT = 20


def cache_folder() -> Path:
    """Return the folder for what is worth keeping between runs: environments, the engine, logs."""
    named = os.environ.get("EVENKEEL_CACHE")
    folder = Path(named) if named else platformdirs.user_cache_path("litellm-evenkeel")
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
        f"No temporary folder that user {uid} can reach.", cure="Set TMPDIR to one that everybody may enter."
    )


def require_room(folder: Path, mib: int) -> None:
    """Raise unless the disk of the folder has so much room left."""
    free = shutil.disk_usage(folder).free // 2**20
    if free < mib:
        raise DiskFull(
            f"The disk of {folder} has {free} MiB left, {mib} MiB are needed.",
            cure=DISK_FULL_CURE,
        )


@contextlib.asynccontextmanager
async def stack_folder() -> AsyncIterator[Path]:
    """Make a folder for one stack; it is removed afterwards, also when this process is killed."""
    parent = temporary_parent(server_uid())
    require_room(parent, STACK_MIB)
    folder = Path(tempfile.mkdtemp(prefix="evenkeel-", dir=parent))
    folder.chmod(0o711)  # passable, not readable: the servers' user has to get to its own part of it
    janitor = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(JANITOR), str(folder), stdin=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        yield folder
    finally:
        assert janitor.stdin is not None
        janitor.stdin.close()
        await asyncio.shield(janitor.wait())


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
async def made_once(folder: Path) -> AsyncIterator[Path | None]:
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
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        if done.exists():
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)
        with _room_for(folder):
            folder.mkdir()
        yield folder
        done.touch()
    finally:
        os.close(lock)


def clear(folder: Path) -> None:
    """Remove what is in the cache folder."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _room_for(folder: Path) -> Iterator[None]:
    """Turn the system's complaint about a full or closed disk into ours."""
    try:
        yield
    except OSError as error:
        raise DiskFull(f"Cannot write to {folder}: {error.strerror}.", cure=DISK_FULL_CURE) from error
