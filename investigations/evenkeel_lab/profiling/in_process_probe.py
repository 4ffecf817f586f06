"""The probe inside a subject's processes: samples where nobody may look at them from the outside.

It sees the main thread, which is where an event loop runs; what other threads spend is told as unseen.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from evenkeel_lab.profiling.probes import asked, probed
from evenkeel_lab.profiling.sampler import RATE, CannotSample, Samples, Subject, cpu
from evenkeel_lab.profiling.stacks import Stack, opened, with_unseen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")
NAME = "the probe in the process"


async def record(subject: Subject, folder: Path, work: Callable[[], Awaitable[T]]) -> tuple[T, Samples]:
    """Have all probes of a subject sample while the work is done."""
    del folder  # they write beside what they write anyway
    processes = probed(subject.place)
    if not processes:
        raise CannotSample("None of its processes has a probe.", hint="Investigate without --profile.")
    async with asked(subject.place, processes, RATE) as told:
        before = {one.pid: cpu(one) for one in processes}
        done = await work()
        spent = {one.pid: max(cpu(one) - before[one.pid], 0.0) for one in processes}
    stacks: Counter[Stack] = Counter()
    for pid, one in told.items():
        found: Counter[Stack] = Counter()
        for stack, microseconds in one["stacks"].items():
            found[opened(stack)] += microseconds
        stacks += with_unseen(found, spent[pid])
    return done, Samples(NAME, RATE, sum(one["samples"] for one in told.values()), stacks)
