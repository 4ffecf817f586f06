"""A disk of a few megabytes, which a test can fill."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

MEGABYTES = 256
CHUNK = b"\0" * 65_536
FILLER = "filler"


@contextlib.asynccontextmanager
async def small_disk(folder: Path) -> AsyncIterator[bool]:
    """Mount a disk in memory at `folder` during the block. Yield false if this user may not: it is then a folder."""
    folder.mkdir(mode=0o711)
    is_mounted = os.geteuid() == 0 and await _run("mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", folder)
    try:
        yield is_mounted
    finally:
        if is_mounted:
            # Lazily, as a process that is killed may still have a file open.
            await _run("umount", "-l", folder)


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fill the disk of `folder` during the block."""
    filler = folder / FILLER
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(CHUNK)
        yield
    finally:
        filler.unlink(missing_ok=True)


async def _run(*command: str | Path) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return False
    return await process.wait() == 0
