"""The probes inside a subject's processes, seen from the outside: who has one, and what it tells when it is asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from typing import TYPE_CHECKING, Any

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.probes.stacks_of_proxy import REQUEST, UNFINISHED, answers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

# A probe looks once a second; a busy one later.
ANSWER_SECONDS, STEP_SECONDS = 20.0, 0.05


def probed(place: Path) -> list[psutil.Process]:
    """Return the living processes whose probe writes to a place."""
    found = []
    for file in place.parent.iterdir():
        number = re.fullmatch(rf"{re.escape(place.name)}-(\d+)", file.name)
        if number:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(number[1])))
    return found


@contextlib.asynccontextmanager
async def asked(place: Path, processes: list[psutil.Process], rate: int) -> AsyncIterator[dict[int, dict[str, Any]]]:
    """Have probes sample so often while the block lasts; afterwards, what they tell is there, by process."""
    request = f"{rate} {time.time_ns()}"
    files = {one.pid: answers(str(place), one.pid, request) for one in processes}
    told: dict[int, dict[str, Any]] = {}
    path = place.with_name(place.name + REQUEST)
    unfinished = path.with_name(path.name + UNFINISHED)
    unfinished.write_text(request, encoding="ascii")
    unfinished.replace(path)
    try:
        for begun, _ in files.values():
            await _there(begun)
        yield told
    finally:
        path.unlink(missing_ok=True)
    for pid, (_, done) in files.items():
        await _there(done)
        told[pid] = json.loads(done.read_text(encoding="utf-8"))


async def _there(file: Path) -> None:
    """Wait for what a probe writes."""
    until = time.monotonic() + ANSWER_SECONDS
    while not file.exists():
        if time.monotonic() > until:
            raise RigFailure("A probe does not answer.", hint="Try again; else without --profile.")
        await asyncio.sleep(STEP_SECONDS)
