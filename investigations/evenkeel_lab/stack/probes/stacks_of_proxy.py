"""Sample the stacks of this process, for profiles of processes that may not be read from outside.

The system's profiling timer fires after each hundredth of a second of CPU time. Then the main thread, which runs the
event loop, records its stack and its CPU time since the last sample. Waiting has no weight, and a long call into C has
the weight of its CPU time, on the function that called it.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

    Stack = tuple[CodeType | str, ...]

COLLECTION = ("(garbage collection)",)
OLDEST = 2
NS_PER_US = 1000


class Sampler:
    """Sampler from its creation until `end`, both in the main thread."""

    def __init__(self, rate: int) -> None:
        self.samples = 0
        self._spent: dict[Stack, int] = {}
        self._collections: dict[Stack, int] = {}
        self._collecting: Stack = ()
        self._over = False
        self._thread = threading.get_ident()
        self._last = time.thread_time_ns()
        gc.callbacks.append(self._collect)
        if rate:
            signal.signal(signal.SIGPROF, self._take)
            signal.setitimer(signal.ITIMER_PROF, 1 / rate, 1 / rate)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number
        if not self._over:
            self.samples += 1
            if not self._collecting:
                self._charge(stack_of(frame))

    def _collect(self, phase: str, info: dict[str, int]) -> None:
        """Record the cost of a full garbage collection separately, and not on the stack that it interrupts."""
        if info["generation"] < OLDEST or threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._collecting = stack_of(sys._getframe(1))  # noqa: SLF001  # nothing public does
            self._began = time.thread_time_ns()
        elif self._collecting:
            spent = time.thread_time_ns() - self._began
            self._collections[self._collecting] = self._collections.get(self._collecting, 0) + spent
            self._spent[COLLECTION] = self._spent.get(COLLECTION, 0) + spent
            # The CPU time before it is charged at the next tick, as without a collection.
            self._last += spent
            self._collecting = ()

    def _charge(self, stack: Stack) -> None:
        now = time.thread_time_ns()
        # In one statement: a tick in between would charge the same time twice.
        last, self._last = self._last, now
        self._spent[stack] = self._spent.get(stack, 0) + now - last
        # The cost of sampling is not charged.
        self._last = time.thread_time_ns()

    def end(self) -> dict[str, Any]:
        """Return the microseconds of CPU by stack, and those of full collections by the interrupted stack."""
        # The handler stays: without one, a pending signal would end the process.
        self._over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.callbacks.remove(self._collect)
        return {"stacks": by_text(self._spent), "collections": by_text(self._collections), "samples": self.samples}


def by_text(spent: dict[Stack, int]) -> dict[str, int]:
    """Return microseconds by stack, in py-spy's format."""
    result: dict[str, int] = {}
    for stack, ns in spent.items():
        parts = (part if isinstance(part, str) else f"{part.co_qualname} ({part.co_filename})" for part in stack[::-1])
        text = ";".join(parts)
        result[text] = result.get(text, 0) + ns // NS_PER_US
    return result


def stack_of(frame: FrameType | None) -> Stack:
    """Return the code objects of a stack, the innermost first."""
    frames = []
    while frame is not None:
        frames.append(frame.f_code)
        frame = frame.f_back
    return tuple(frames)
