"""Samples the stacks of the process it runs in: for profiles, where nobody may look at a process from the outside.

The system's profiling timer ticks for each hundredth of a second of CPU that the process spends. At each tick, the main
thread, which is where an event loop runs, writes down its stack and how much CPU it has spent since the last time: so
waiting weighs nothing, and a long call into C weighs what it took, on the function that called it.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

    Stack = tuple[CodeType | str, ...]

REQUEST, ANSWER, BEGUN = ".profile", ".stacks", ".new"
COLLECTION = ("(garbage collection)",)
OLDEST = 2
NS_PER_US = 1000


class Sampler:
    """Takes samples from when it is made until it is ended; both in the main thread."""

    def __init__(self, rate: int) -> None:
        self.samples = 0
        self._spent: dict[Stack, int] = {}
        self._collecting = False
        self._over = False
        self._thread = threading.get_ident()
        self._last = time.thread_time_ns()
        gc.callbacks.append(self._collect)
        signal.signal(signal.SIGPROF, self._take)
        signal.setitimer(signal.ITIMER_PROF, 1 / rate, 1 / rate)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number
        if not self._over:
            self.samples += 1
            self._charge(COLLECTION if self._collecting else stack_of(frame))

    def _collect(self, phase: str, info: dict[str, int]) -> None:
        """Keep what a whole collection costs apart: else the first finalizer that it meets would have spent it."""
        if info["generation"] < OLDEST or threading.get_ident() != self._thread:
            return
        self._charge(stack_of(sys._getframe(1)) if phase == "start" else COLLECTION)  # noqa: SLF001  # nothing public does
        self._collecting = phase == "start"

    def _charge(self, stack: Stack) -> None:
        self._spent[stack] = self._spent.get(stack, 0) + time.thread_time_ns() - self._last
        # Read again: what this costs is not the process's.
        self._last = time.thread_time_ns()

    def end(self) -> dict[str, int]:
        """Return the microseconds of CPU that each stack has taken, as py-spy would write the stack."""
        # It stays the handler: a tick that is still under way would end a process that has none.
        self._over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.callbacks.remove(self._collect)
        found: dict[str, int] = {}
        for stack, spent in self._spent.items():
            told = ";".join(
                part if isinstance(part, str) else f"{part.co_qualname} ({part.co_filename})"
                for part in reversed(stack)
            )
            found[told] = found.get(told, 0) + spent // NS_PER_US
        return found


def stack_of(frame: FrameType | None) -> Stack:
    """Return a stack, the innermost function first."""
    found = []
    while frame is not None:
        found.append(frame.f_code)
        frame = frame.f_back
    return tuple(found)


class Switch:
    """Samples for as long as there is a request: a file that says how often."""

    def __init__(self, place: str) -> None:
        self._request = Path(place + REQUEST)
        self._answer = Path(f"{place}{ANSWER}.{os.getpid()}")
        self._begun = self._answer.with_name(self._answer.name + BEGUN)
        self._sampler: Sampler | None = None

    def look(self) -> None:
        """See whether the request has come or gone."""
        wanted = self._request.exists()
        if wanted and self._sampler is None:
            self._begun.touch()
            self._sampler = Sampler(int(self._request.read_text(encoding="ascii")))
        elif not wanted and self._sampler is not None:
            told: dict[str, Any] = {"stacks": self._sampler.end(), "samples": self._sampler.samples}
            self._sampler = None
            self._begun.write_text(json.dumps(told), encoding="utf-8")
            self._begun.replace(self._answer)
