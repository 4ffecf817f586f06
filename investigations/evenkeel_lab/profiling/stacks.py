"""Collapsed stacks: how much CPU was spent with which functions on the stack, the outermost first."""

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
"""How often each stack of each thread was seen."""
THREAD = re.compile(r"thread \((\d+)\)")


@dataclass(frozen=True)
class Spent:
    """What a function has cost, in microseconds of CPU."""

    own: int
    """In its own lines, and in what it calls that is not Python."""
    cumulated: int
    """With all that it calls; once, however often it is on a stack."""


def parsed(text: str) -> Samples:
    """Read what py-spy has written."""
    found: Counter[tuple[int, Stack]] = Counter()
    for line in text.splitlines():
        told, _, count = line.rpartition(" ")
        thread, _, rest = told.partition(";")
        number = THREAD.match(thread)
        if not count.isdigit() or number is None:
            continue
        found[int(number[1]), opened(rest)] += int(count)
    return found


def opened(text: str) -> Stack:
    """Return a stack without what only launches it."""
    frames = [named(frame) for frame in text.split(";") if frame]
    above = next((index for index, name in enumerate(frames) if not launches(name)), len(frames) - 1)
    return tuple(frames[max(above, 0) :]) or (UNSEEN,)


def weights(samples: Samples, cpu: Mapping[int, float], rate: int) -> dict[int, float]:
    """Return how many microseconds of CPU a sample of each thread stands for, by the seconds that the thread has spent.

    Samples alone would not do. One that waits for a core looks as if it ran; so a sample is worth what its thread has
    spent. One that waits for work is woken by every sample, which costs CPU that is not its own: such samples do not
    count, and no sample is worth more than the time until the next.
    """
    working = Counter[int]()
    for (thread, stack), count in samples.items():
        working[thread] += 0 if waits(stack[-1]) else count
    return {thread: min(cpu.get(thread, 0.0) / count, 1 / rate) * 1e6 for thread, count in working.items() if count}


def weighted(samples: Samples, worth: Mapping[int, float]) -> Counter[Stack]:
    """Return what each stack has cost."""
    found = Counter[Stack]()
    for (thread, stack), count in samples.items():
        if not waits(stack[-1]):
            found[stack] += round(worth[thread] * count)
    return found


def effective(samples: Samples, worth: Mapping[int, float]) -> float:
    """Return how many samples of equal worth would tell as much as these."""
    found = [(worth[thread], count) for (thread, stack), count in samples.items() if not waits(stack[-1])]
    squares = sum(one**2 * count for one, count in found)
    return float(sum(one * count for one, count in found) ** 2 / squares) if squares else 0.0


def apart(stacks: Counter[Stack], collections: Mapping[str, int]) -> Counter[Stack]:
    """Take the microseconds of whole garbage collections from the stacks that they have interrupted."""
    found = Counter(stacks)
    for text, spent in collections.items():
        stack = opened(text)
        moved = min(found[stack], spent)
        found[stack] -= moved
        found[COLLECTION] += moved
    return found


def with_unseen(stacks: Mapping[Stack, int], whole: float) -> Counter[Stack]:
    """Add what a process has spent, in seconds, beyond all that was seen of it."""
    found = Counter({stack: spent for stack, spent in stacks.items() if spent > 0})
    rest = round(whole * 1e6) - found.total()
    return found + Counter({(UNSEEN,): rest}) if rest > 0 else found


def functions(stacks: Mapping[Stack, int]) -> dict[str, Spent]:
    """Return what each function has cost."""
    own: Counter[str] = Counter()
    cumulated: Counter[str] = Counter()
    for stack, spent in stacks.items():
        own[stack[-1]] += spent
        for name in set(stack):
            cumulated[name] += spent
    return {name: Spent(own[name], cumulated[name]) for name in sorted(cumulated)}


def largest(told: Mapping[str, Spent], least: float) -> dict[str, Spent]:
    """Tell functions below a share of the whole together; the sum of what is their own stays."""
    wanted = least * sum(one.own for one in told.values())
    found = {name: one for name, one in told.items() if one.cumulated >= wanted and name != OTHER}
    rest = sum(one.own for name, one in told.items() if name not in found)
    return found | ({OTHER: Spent(rest, rest)} if rest else {})


def pruned(stacks: Mapping[Stack, int], least: float) -> Counter[Stack]:
    """Fold every part of the tree that is below a share of the whole; their sum stays."""
    wanted = least * sum(stacks.values())
    within: Counter[Stack] = Counter()
    for stack, spent in stacks.items():
        for part in beginnings(stack):
            within[part] += spent
    found: Counter[Stack] = Counter()
    for stack, spent in stacks.items():
        small = next((part for part in beginnings(stack) if within[part] < wanted), None)
        found[stack if small is None else (*small[:-1], OTHER)] += spent
    return found


def beginnings(stack: Stack) -> Iterable[Stack]:
    """Return a stack's first function, its first two, and so on."""
    return (stack[:depth] for depth in range(1, len(stack) + 1))
