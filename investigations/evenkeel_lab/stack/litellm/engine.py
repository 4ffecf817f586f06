"""The query engine, through which LiteLLM's Prisma client uses Postgres.

Prisma's native query engine is downloaded from Prisma's own host, which many machines cannot reach. The
lab uses, in this order: the engine of the environment variable, a native engine that Prisma has cached, or the stand-in
of `prisma_engine/`, which runs the same engine in Node, compiled to WebAssembly.
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
    """A query engine. Results state its `kind`, because kinds differ in speed."""

    path: Path
    kind: str


def named_engine() -> Engine | None:
    """Return the engine of the environment variable, or `None`."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    path = Path(named).absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise WrongUse(f"{VARIABLE}: {named} cannot be executed.", hint="Correct it, or unset it.")
    return Engine(path, "named")


def cached_engine(home: Path | None = None) -> Engine | None:
    """Return a native engine from Prisma's cache that runs, or `None`."""
    cache = (home or Path.home()) / ".cache" / "prisma-python" / "binaries"
    for path in sorted(cache.glob("**/*query-engine-*"), reverse=True):
        if path.is_file() and os.access(path, os.X_OK) and path.suffix not in {".js", ".node", ".so", ".gz"}:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                answer = subprocess.run([path, "--version"], capture_output=True, check=False, timeout=10)
                if answer.returncode == 0:
                    return Engine(path, "native")
    return None


async def stand_in(node: Node, log: Path) -> Engine:
    """Return the stand-in; install it into the cache on first use."""
    folder = program_folder("engine", SOURCE, node)
    shim = folder / "query-engine"
    async with create_once(folder) as empty:
        if empty is not None:
            hint = f"Check the connection to the npm registry, or set {VARIABLE} to a native engine."
            await install_program(SOURCE, empty, node, log, what="the Prisma stand-in", hint=hint)
            shim.write_text(f'#!/bin/sh\nexec "{node.bin / "node"}" "{folder / "query-engine.mjs"}" "$@"\n')
            shim.chmod(0o755)
    return Engine(shim, "stand-in")


async def find_engine(node: Node, log: Path) -> Engine:
    """Return the engine to use."""
    return named_engine() or await asyncio.to_thread(cached_engine) or await stand_in(node, log)
