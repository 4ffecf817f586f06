"""Control of the probes inside a subject's processes: find them, start them, read their results."""

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

# A probe checks for requests once a second; in a busy process, later.
ANSWER_SECONDS, STEP_SECONDS = 20.0, 0.05


def probed_processes(path: Path) -> list[psutil.Process]:
    """Return the running processes with a probe that writes next to `path`."""
    processes = []
    for file in path.parent.iterdir():
        number = re.fullmatch(rf"{re.escape(path.name)}-(\d+)", file.name)
        if number:
            with contextlib.suppress(psutil.NoSuchProcess):
                processes.append(psutil.Process(int(number[1])))
    return processes


@contextlib.asynccontextmanager
async def sampling(path: Path, processes: list[psutil.Process], rate: int) -> AsyncIterator[dict[int, dict[str, Any]]]:
    """Sample by the probes of `processes` at `rate` a second. After the block, the results are there by process id."""
    request = f"{rate} {time.time_ns()}"
    files = {process.pid: answers(str(path), process.pid, request) for process in processes}
    results: dict[int, dict[str, Any]] = {}
    request_file = path.with_name(path.name + REQUEST)
    unfinished = request_file.with_name(request_file.name + UNFINISHED)
    unfinished.write_text(request, encoding="ascii")
    unfinished.replace(request_file)
    try:
        for begun, _ in files.values():
            await _wait_for_file(begun)
        yield results
    finally:
        request_file.unlink(missing_ok=True)
    for pid, (_, done) in files.items():
        await _wait_for_file(done)
        results[pid] = json.loads(done.read_text(encoding="utf-8"))


async def _wait_for_file(file: Path) -> None:
    """Wait until a probe has written `file`."""
    until = time.monotonic() + ANSWER_SECONDS
    while not file.exists():
        if time.monotonic() > until:
            raise RigFailure("A probe does not answer.", hint="Try again; else without --profile.")
        await asyncio.sleep(STEP_SECONDS)
