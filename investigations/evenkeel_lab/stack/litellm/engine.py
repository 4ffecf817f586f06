"""The program through which LiteLLM's Prisma client speaks to Postgres.

Prisma's native query engine is downloaded from a host of Prisma's own, which many machines cannot reach. So, in
this order: the one the user names, a native one that Prisma has cached here before, the stand-in of
`prisma_engine/`, which runs the same engine compiled to WebAssembly in Node.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.stack.folders import create_once
from evenkeel_lab.stack.packages.npm import install_program, program_folder

if TYPE_CHECKING:
    from evenkeel_lab.stack.packages.node import Node

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
        raise WrongUse(f"{VARIABLE} names {named}, which cannot be executed.", hint="Mend it, or unset it.")
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
    folder = program_folder("engine", SOURCE, node)
    shim = folder / "query-engine"
    async with create_once(folder) as empty:
        if empty is not None:
            hint = f"Mend the way to the npm registry, or name a native engine in {VARIABLE}."
            await install_program(SOURCE, empty, node, log, what="the Prisma stand-in", hint=hint)
            shim.write_text(f'#!/bin/sh\nexec "{node.bin / "node"}" "{folder / "query-engine.mjs"}" "$@"\n')
            shim.chmod(0o755)
    return Engine(shim, "stand-in")


async def find_engine(node: Node, log: Path) -> Engine:
    """Return the engine to use."""
    return named_engine() or await asyncio.to_thread(cached_engine) or await stand_in(node, log)
