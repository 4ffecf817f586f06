"""The npm packages of the lab's own Node programs, installed from their committed locks."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

from evenkeel_lab.errors import MissingTool, ProcessFailed
from evenkeel_lab.stack.folders import cache_folder
from evenkeel_lab.stack.processes.process import Command, run

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel_lab.stack.packages.node import Node

CI = ["npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier"]


def program_folder(name: str, source: Path, node: Node) -> Path:
    """Return the folder of a program and its packages, named after its content and its Node."""
    digest = hashlib.sha256(f"{node.version} {node.bin}".encode())
    for path in _sources(source):
        digest.update(path.name.encode() + path.read_bytes())
    return cache_folder() / f"{name}-{digest.hexdigest()[:12]}"


async def install_program(source: Path, empty: Path, node: Node, log: Path, *, what: str, hint: str) -> None:
    """Copy a program into an empty folder and install its packages beside it."""
    for path in _sources(source):
        shutil.copy(path, empty)
    env = dict(os.environ) | {"PATH": node.path, "npm_config_cache": str(cache_folder() / "npm")}
    env |= {"NODE_DISABLE_COMPILE_CACHE": "1"}
    try:
        await run(Command("npm ci", CI, env=env, cwd=empty, log=log))
    except ProcessFailed as error:
        raise MissingTool(
            f"The npm packages of {what} cannot be installed.", hint=hint, details=error.details
        ) from error


def _sources(source: Path) -> list[Path]:
    return sorted(path for path in source.iterdir() if path.suffix in {".mjs", ".json"})
