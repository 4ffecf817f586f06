"""The program through which LiteLLM's Prisma client speaks to Postgres.

Prisma's native query engine is downloaded from a host of Prisma's own, which many machines cannot reach. So, in
this order: the one the user names, a native one that Prisma has cached here before, the stand-in of
`prisma_engine/`, which runs the same engine compiled to WebAssembly in Node.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.errors import MissingTool, PartFailed, WrongUse
from evenkeel_lab.stack.child import Command, run
from evenkeel_lab.stack.folders import cache_folder, made_once

if TYPE_CHECKING:
    from evenkeel_lab.stack.node import Node

SOURCE = Path(__file__).with_name("prisma_engine")
VARIABLE = "PRISMA_QUERY_ENGINE_BINARY"


@dataclass(frozen=True)
class Engine:
    """A query engine, and which kind it is: every result says so, because they differ in speed."""

    path: Path
    kind: str


def named_engine() -> Engine | None:
    """Return the engine that the user names in the environment."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    path = Path(named).absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise WrongUse(f"{VARIABLE} names {named}, which cannot be executed.", cure="Mend it, or unset it.")
    return Engine(path, "named")


def cached_engine(home: Path | None = None) -> Engine | None:
    """Return a native engine that Prisma has downloaded here before and that runs."""
    cache = (home or Path.home()) / ".cache" / "prisma-python" / "binaries"
    for found in sorted(cache.glob("**/*query-engine-*"), reverse=True):
        if found.is_file() and os.access(found, os.X_OK) and found.suffix not in {".js", ".node", ".so", ".gz"}:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                answer = subprocess.run([found, "--version"], capture_output=True, check=False, timeout=10)
                if answer.returncode == 0:
                    return Engine(found, "native")
    return None


async def stand_in(node: Node, log: Path) -> Engine:
    """Return the stand-in, installed into the cache on first use."""
    sources = sorted(path for path in SOURCE.iterdir() if path.suffix in {".mjs", ".json"})
    digest = hashlib.sha256(f"{node.version} {node.bin}".encode())
    for source in sources:
        digest.update(source.name.encode() + source.read_bytes())
    folder = cache_folder() / f"engine-{digest.hexdigest()[:12]}"
    shim = folder / "query-engine"
    async with made_once(folder) as empty:
        if empty is not None:
            for source in sources:
                shutil.copy(source, empty)
            env = dict(os.environ) | {"PATH": node.path, "npm_config_cache": str(cache_folder() / "npm")}
            env |= {"NODE_DISABLE_COMPILE_CACHE": "1"}
            npm = ["npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier"]
            try:
                await run(Command("npm ci", npm, env=env, cwd=empty, log=log))
            except PartFailed as error:
                raise MissingTool(
                    "The npm packages of the Prisma stand-in cannot be installed.",
                    cure=f"Mend the way to the npm registry, or name a native engine in {VARIABLE}.",
                    details=error.details,
                ) from error
            shim.write_text(f'#!/bin/sh\nexec "{node.bin / "node"}" "{folder / "query-engine.mjs"}" "$@"\n')
            shim.chmod(0o755)
    return Engine(shim, "stand-in")


async def find_engine(node: Node, log: Path) -> Engine:
    """Return the engine to use."""
    return named_engine() or await asyncio.to_thread(cached_engine) or await stand_in(node, log)
