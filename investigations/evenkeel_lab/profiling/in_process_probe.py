"""Sample a subject's processes by the probes inside them, where they may not be read from outside.

A probe sees the main thread, which runs the event loop. The CPU time of other threads is listed as unseen.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from evenkeel_lab.profiling.sampler import RATE, CannotSample, Samples, Subject, cpu
from evenkeel_lab.profiling.stacks import Stack, with_unseen, without_launchers
from evenkeel_lab.runner.measurement.probes import probed_processes, recording
from evenkeel_lab.stack.probes.probe_switch import STACKS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")
NAME = "the probe in the process"


async def record(subject: Subject, folder: Path, work: Callable[[], Awaitable[T]]) -> tuple[T, Samples]:
    """Sample by all probes of a subject while the work is done."""
    del folder  # Probes write to their own files.
    processes = probed_processes(subject.path)
    if not processes:
        raise CannotSample("None of its processes has a probe.", hint="Investigate without --profile.")
    async with recording(subject.path, processes, STACKS, RATE) as results:
        before = {process.pid: cpu(process) for process in processes}
        done = await work()
        spent = {process.pid: max(cpu(process) - before[process.pid], 0.0) for process in processes}
    stacks: Counter[Stack] = Counter()
    for pid, result in results.items():
        seen: Counter[Stack] = Counter()
        for stack, microseconds in result["stacks"].items():
            seen[without_launchers(stack)] += microseconds
        stacks += with_unseen(seen, spent[pid])
    return done, Samples(NAME, RATE, sum(result["samples"] for result in results.values()), stacks)
