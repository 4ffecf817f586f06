"""The LiteLLM that events are replayed in, and the counter of what they allocate."""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING, Final

from evenkeel_lab.stack.folders import cache_folder, create_once
from evenkeel_lab.stack.litellm.engine import find_engine
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION, LOCKS, environment
from evenkeel_lab.stack.packages.node import find_node
from evenkeel_lab.stack.packages.python import install

if TYPE_CHECKING:
    from pathlib import Path

RECORDED: Final = "1.106.2"
"""The version whose events are committed: they are replayed in all of them."""
NEWEST: Final = "1.110.2"
VERSIONS: Final = (RECORDED, DEFAULT_VERSION, NEWEST)
MEMRAY: Final = LOCKS / "memray.txt"


async def python_of(version: str, log: Path) -> Path:
    """Return the interpreter of a LiteLLM."""
    node = await find_node(log)
    return (await environment(version, node, await find_engine(node, log), log)).python


async def memray_folder(log: Path) -> Path:
    """Return a folder that holds memray, to be put on PYTHONPATH."""
    digest = hashlib.sha256(MEMRAY.read_bytes() + platform.python_version().encode()).hexdigest()[:12]
    folder = cache_folder() / "plugins" / f"memray-{digest}"
    async with create_once(folder) as empty:
        if empty is not None:
            await install(["--target", empty], ["--no-deps", "--require-hashes", "-r", MEMRAY], log)
    return folder
