"""Collapsed stacks: CPU time by the functions on the stack, the outermost first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.profiling.frames import OTHER, UNSEEN, launches, named, waits
from evenkeel_lab.stack.probes.stacks_of_proxy import COLLECTION

if TYPE_CHECKING:
    from collections.abc import Iterable

Stack = tuple[str, ...]
Samples = Mapping[tuple[int, Stack], int]
"""The number of samples by thread and stack."""
THREAD = re.compile(r"thread \((\d+)\)")


@dataclass(frozen=True)
class Spent:
    """CPU time of a function, in microseconds."""

    own: int
    """Its own CPU time, which includes what it calls that is not Python."""
    cumulated: int
    """With all that it calls. A function that is on a stack several times counts once."""


def parse(text: str) -> Samples:
    """Parse the output of py-spy."""
    samples: Counter[tuple[int, Stack]] = Counter()
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        thread, _, rest = frames.partition(";")
        number = THREAD.match(thread)
        if not count.isdigit() or number is None:
            continue
        samples[int(number[1]), without_launchers(rest)] += int(count)
    return samples


def without_launchers(text: str) -> Stack:
    """Return the stack of `text` without the outermost functions that only start a program or a thread."""
    frames = [named(frame) for frame in text.split(";") if frame]
    above = next((index for index, name in enumerate(frames) if not launches(name)), len(frames) - 1)
    return tuple(frames[max(above, 0) :]) or (UNSEEN,)


def microseconds_per_sample(samples: Samples, cpu: Mapping[int, float], rate: int) -> dict[int, float]:
    """Return the microseconds of CPU that a sample of each thread stands for; `cpu` has the threads' CPU seconds.

    A thread that waits for a core looks as if it ran, so the CPU time of the thread decides. Every sample wakes a
    thread that waits for work, which costs CPU time that is not its own: such samples do not count, and no sample is
    worth more than the time until the next one.
    """
    working = Counter[int]()
    for (thread, stack), count in samples.items():
        working[thread] += 0 if waits(stack[-1]) else count
    return {thread: min(cpu.get(thread, 0.0) / count, 1 / rate) * 1e6 for thread, count in working.items() if count}


def costs_of(samples: Samples, worth: Mapping[int, float]) -> Counter[Stack]:
    """Return the CPU time of each stack in microseconds; `worth` is that of a sample by thread."""
    costs = Counter[Stack]()
    for (thread, stack), count in samples.items():
        if not waits(stack[-1]):
            costs[stack] += round(worth[thread] * count)
    return costs


def effective_samples(samples: Samples, worth: Mapping[int, float]) -> float:
    """Return the number of equally weighted samples with the same information (Kish's effective sample size)."""
    weighted = [(worth[thread], count) for (thread, stack), count in samples.items() if not waits(stack[-1])]
    squares = sum(weight**2 * count for weight, count in weighted)
    return float(sum(weight * count for weight, count in weighted) ** 2 / squares) if squares else 0.0


def separate_collections(stacks: Counter[Stack], collections: Mapping[str, int]) -> Counter[Stack]:
    """Move the microseconds of garbage collections from the stacks that they interrupted to a stack of their own."""
    separated = Counter(stacks)
    for text, spent in collections.items():
        stack = without_launchers(text)
        moved = min(separated[stack], spent)
        separated[stack] -= moved
        separated[COLLECTION] += moved
    return separated


def with_unseen(stacks: Mapping[Stack, int], whole: float) -> Counter[Stack]:
    """Add the part of a process's CPU time, `whole` seconds, that is in no sample."""
    seen = Counter({stack: spent for stack, spent in stacks.items() if spent > 0})
    rest = round(whole * 1e6) - seen.total()
    return seen + Counter({(UNSEEN,): rest}) if rest > 0 else seen


def functions(stacks: Mapping[Stack, int]) -> dict[str, Spent]:
    """Return the CPU time of each function."""
    own: Counter[str] = Counter()
    cumulated: Counter[str] = Counter()
    for stack, spent in stacks.items():
        own[stack[-1]] += spent
        for name in set(stack):
            cumulated[name] += spent
    return {name: Spent(own[name], cumulated[name]) for name in sorted(cumulated)}


def largest(by_function: Mapping[str, Spent], least: float) -> dict[str, Spent]:
    """Merge functions with less than the share `least` into one entry. The sum of own CPU times stays the same."""
    threshold = least * sum(spent.own for spent in by_function.values())
    large = {name: spent for name, spent in by_function.items() if spent.cumulated >= threshold and name != OTHER}
    rest = sum(spent.own for name, spent in by_function.items() if name not in large)
    return large | ({OTHER: Spent(rest, rest)} if rest else {})


def pruned(stacks: Mapping[Stack, int], least: float) -> Counter[Stack]:
    """Merge every subtree with less than the share `least`. The sum stays the same."""
    threshold = least * sum(stacks.values())
    within: Counter[Stack] = Counter()
    for stack, spent in stacks.items():
        for part in beginnings(stack):
            within[part] += spent
    merged: Counter[Stack] = Counter()
    for stack, spent in stacks.items():
        small = next((part for part in beginnings(stack) if within[part] < threshold), None)
        merged[stack if small is None else (*small[:-1], OTHER)] += spent
    return merged


def beginnings(stack: Stack) -> Iterable[Stack]:
    """Return a stack's first function, its first two, and so on."""
    return (stack[:depth] for depth in range(1, len(stack) + 1))
