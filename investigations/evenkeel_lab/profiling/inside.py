"""The probe inside a subject's processes: samples where nobody may look at them from the outside.

It sees the main thread, which is where an event loop runs; what other threads spend is told as unseen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.profiling.sampler import RATE, CannotSample, Samples, Subject, cpu
from evenkeel_lab.profiling.stacks import Stack, opened, with_unseen
from evenkeel_lab.stack.probe.stacks_of_proxy import ANSWER, BEGUN, REQUEST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")
NAME = "the probe in the process"
# A probe looks once a second; a busy one later.
ANSWER_SECONDS, STEP_SECONDS = 20.0, 0.05


async def record(subject: Subject, folder: Path, work: Callable[[], Awaitable[T]]) -> tuple[T, Samples]:
    """Have all probes of a subject sample while the work is done."""
    del folder  # they write beside what they write anyway
    processes = probed(subject.place)
    if not processes:
        raise CannotSample("None of its processes has a probe.", cure="Investigate without --profile.")
    request = subject.place.with_name(subject.place.name + REQUEST)
    answers = {one: subject.place.with_name(f"{subject.place.name}{ANSWER}.{one.pid}") for one in processes}
    for file in answers.values():
        file.unlink(missing_ok=True)
    try:
        unfinished = request.with_name(request.name + ".new")
        unfinished.write_text(str(RATE), encoding="ascii")
        unfinished.replace(request)
        for file in answers.values():
            await _there(file.with_name(file.name + BEGUN))
        before = {one: cpu(one) for one in processes}
        done = await work()
        spent = {one: max(cpu(one) - before[one], 0.0) for one in processes}
    finally:
        request.unlink(missing_ok=True)
    stacks: Counter[Stack] = Counter()
    count = 0
    for process, file in answers.items():
        await _there(file)
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        found: Counter[Stack] = Counter()
        for stack, microseconds in told["stacks"].items():
            found[opened(stack)] += microseconds
        stacks += with_unseen(found, spent[process])
        count += told["samples"]
    return done, Samples(NAME, RATE, count, stacks)


def probed(place: Path) -> list[psutil.Process]:
    """Return the living processes whose probe writes to a place."""
    found = []
    for file in place.parent.iterdir():
        number = re.fullmatch(rf"{re.escape(place.name)}-(\d+)", file.name)
        if number:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(number[1])))
    return found


async def _there(file: Path) -> None:
    """Wait for what a probe writes."""
    until = time.monotonic() + ANSWER_SECONDS
    while not file.exists():
        if time.monotonic() > until:
            raise RigFailure("A probe does not answer.", cure="Try again; else without --profile.")
        await asyncio.sleep(STEP_SECONDS)
