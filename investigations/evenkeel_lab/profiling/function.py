"""An arm that is a function, in a process of its own that calls it again and again while it is sampled."""

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

PLACE = "calls"
# One call of a benchmark may take minutes.
READY_SECONDS = 1800.0
STEP_SECONDS = 0.05


@contextlib.asynccontextmanager
async def called(
    arm: Arm, seed: int, seconds: float, folder: Path
) -> AsyncIterator[tuple[Subject, Callable[[str], Awaitable[Work]]]]:
    """Run the process; give what samplers need to know of it, and what has the function called for a while."""
    load(arm.function)
    place = folder / PLACE
    spec: dict[str, Any] = {"function": arm.function, "arguments": arm.arguments, "seed": seed, "place": str(place)}
    argv = [sys.executable, "-m", "evenkeel_lab.profiling.call_loop", json.dumps(spec)]
    async with running(Command(arm.function, argv, log=folder / "calls.log", grace=0.5)) as child:

        async def ready() -> bool:
            return any(folder.glob(f"{PLACE}-*"))

        async def work(name: str) -> Work:
            del name
            return await _called(child, place, seconds)

        await until_ready(child, ready, READY_SECONDS)
        yield Subject(child.pid, place), work


async def _called(child: Child, place: Path, seconds: float) -> Work:
    go, done = (place.with_name(place.name + ending) for ending in (GO, DONE))
    done.unlink(missing_ok=True)
    unfinished = go.with_name(go.name + ".new")
    unfinished.write_text(str(seconds), encoding="ascii")
    unfinished.replace(go)
    while not done.exists():
        if child.exit_code is not None:
            raise child.failed(f"ended with exit code {child.exit_code}")
        await asyncio.sleep(STEP_SECONDS)
    told = json.loads(done.read_text(encoding="ascii"))
    return Work(told["calls"], told["seconds"], told["seconds"] / told["calls"] * 1000, "call")
