"""The LiteLLM that events are replayed in, and the counter of what they allocate."""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING, Final

from evenkeel_lab.stack.engine import find_engine
from evenkeel_lab.stack.folders import ENVIRONMENT_MIB, cache_folder, made_once, require_room
from evenkeel_lab.stack.node import find_node
from evenkeel_lab.stack.packages import install, make_environment
from evenkeel_lab.stack.subject import LOCKS, environment

if TYPE_CHECKING:
    from pathlib import Path

NEWEST: Final = "1.109.1"
"""The newest that can be installed: not as a proxy with a database, whose migrations nobody has published."""
MEMRAY: Final = LOCKS / "memray.txt"


async def python_of(version: str, log: Path) -> Path:
    """Return the interpreter of a LiteLLM: of one that cannot be a proxy here, with a lock of its own for replays."""
    lock = LOCKS / f"replay-litellm-{version}.txt"
    if not lock.exists():
        node = await find_node(log)
        return (await environment(version, node, await find_engine(node, log), log)).python
    folder = cache_folder() / "subjects" / f"replay-litellm-{version}-{_digest(lock)}"
    async with made_once(folder) as empty:
        if empty is not None:
            require_room(empty, ENVIRONMENT_MIB)
            python = await make_environment(empty, log)
            await install(["--python", python], ["--no-deps", "--require-hashes", "-r", lock], log)
    return folder / "bin" / "python"


async def memray_folder(log: Path) -> Path:
    """Return a folder that holds memray, to be put on PYTHONPATH."""
    folder = cache_folder() / "plugins" / f"memray-{_digest(MEMRAY)}"
    async with made_once(folder) as empty:
        if empty is not None:
            await install(["--target", empty], ["--no-deps", "--require-hashes", "-r", MEMRAY], log)
    return folder


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes() + platform.python_version().encode()).hexdigest()[:12]
