"""Control of the probes inside a subject's processes: find them, start them, read their results."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.probes.probe_switch import UNFINISHED, answers, request_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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
async def recording(
    path: Path, processes: list[psutil.Process], kind: str, argument: object
) -> AsyncIterator[dict[int, dict[str, Any]]]:
    """Record by the probes of `processes`. After the block, the results are there by process id."""
    request = f"{argument} {time.time_ns()}"
    files = {process.pid: answers(str(path), kind, process.pid, request) for process in processes}
    results: dict[int, dict[str, Any]] = {}
    wanted = Path(request_file(str(path), kind))
    unfinished = wanted.with_name(wanted.name + UNFINISHED)
    unfinished.write_text(request, encoding="ascii")
    unfinished.replace(wanted)
    try:
        for begun, _ in files.values():
            await _wait_for_file(begun)
        yield results
    finally:
        wanted.unlink(missing_ok=True)
    for pid, (_, done) in files.items():
        await _wait_for_file(done)
        results[pid] = json.loads(done.read_text(encoding="utf-8"))


async def _wait_for_file(file: Path) -> None:
    """Wait until a probe has written `file`."""
    until = time.monotonic() + ANSWER_SECONDS
    while not file.exists():
        if time.monotonic() > until:
            raise RigFailure("A probe does not answer.", hint="Try again; else without --profile and --traces.")
        await asyncio.sleep(STEP_SECONDS)
