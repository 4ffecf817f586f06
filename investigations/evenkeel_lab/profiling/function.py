"""Profile an arm that is a function: its own process calls it repeatedly."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

from evenkeel_lab.profiling.call_loop import DONE, GO
from evenkeel_lab.profiling.sampler import Subject, Work
from evenkeel_lab.runner.function import load
from evenkeel_lab.stack.processes.process import Child, Command, running, until_ready

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from evenkeel_lab.investigation_spec import Arm

FILE = "calls"
# One call of a benchmark may take minutes.
READY_SECONDS = 1800.0
STEP_SECONDS = 0.05


@contextlib.asynccontextmanager
async def running_function(
    arm: Arm, seed: int, seconds: float, folder: Path
) -> AsyncIterator[tuple[Subject, Callable[[str], Awaitable[Work]]]]:
    """Run the process. Yield it as a subject, and a function that calls the arm's function for `seconds`."""
    load(arm.function)
    path = folder / FILE
    spec: dict[str, Any] = {"function": arm.function, "arguments": arm.arguments, "seed": seed, "path": str(path)}
    argv = [sys.executable, "-m", "evenkeel_lab.profiling.call_loop", json.dumps(spec)]
    async with running(Command(arm.function, argv, log=folder / "calls.log", grace=0.5)) as child:

        async def ready() -> bool:
            return any(folder.glob(f"{FILE}-*"))

        async def work(name: str) -> Work:
            del name
            return await _call_for(child, path, seconds)

        await until_ready(child, ready, READY_SECONDS)
        yield Subject(child.pid, path), work


async def _call_for(child: Child, path: Path, seconds: float) -> Work:
    go, done = (path.with_name(path.name + ending) for ending in (GO, DONE))
    done.unlink(missing_ok=True)
    unfinished = go.with_name(go.name + ".new")
    unfinished.write_text(str(seconds), encoding="ascii")
    unfinished.replace(go)
    while not done.exists():
        if child.exit_code is not None:
            raise child.failed(f"ended with exit code {child.exit_code}")
        await asyncio.sleep(STEP_SECONDS)
    result = json.loads(done.read_text(encoding="ascii"))
    return Work(result["calls"], result["seconds"], result["seconds"] / result["calls"] * 1000, "call")
