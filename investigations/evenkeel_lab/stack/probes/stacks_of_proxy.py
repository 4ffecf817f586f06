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

REQUEST, UNFINISHED = ".profile", ".new"
COLLECTION = ("(garbage collection)",)
OLDEST = 2
NS_PER_US = 1000


class Sampler:
    """Takes samples from when it is made until it is ended; both in the main thread."""

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
        """Keep what a whole collection costs apart: else whatever it has interrupted would have spent it."""
        if info["generation"] < OLDEST or threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._collecting = stack_of(sys._getframe(1))  # noqa: SLF001  # nothing public does
            self._began = time.thread_time_ns()
        elif self._collecting:
            spent = time.thread_time_ns() - self._began
            self._collections[self._collecting] = self._collections.get(self._collecting, 0) + spent
            self._spent[COLLECTION] = self._spent.get(COLLECTION, 0) + spent
            # What was spent before it is for the next tick to charge, as without it: a collection comes when its
            # function asks for one, not by chance.
            self._last += spent
            self._collecting = ()

    def _charge(self, stack: Stack) -> None:
        now = time.thread_time_ns()
        # At once: a tick that comes in between would charge the same a second time.
        last, self._last = self._last, now
        self._spent[stack] = self._spent.get(stack, 0) + now - last
        # Read again: what this costs is not the process's.
        self._last = time.thread_time_ns()

    def end(self) -> dict[str, Any]:
        """Return the microseconds of CPU that each stack has taken, and whole collections by where they came about."""
        # It stays the handler: a tick that is still under way would end a process that has none.
        self._over = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.callbacks.remove(self._collect)
        return {"stacks": told(self._spent), "collections": told(self._collections), "samples": self.samples}


def told(spent: dict[Stack, int]) -> dict[str, int]:
    """Return stacks as py-spy would write them, with microseconds."""
    found: dict[str, int] = {}
    for stack, ns in spent.items():
        parts = (part if isinstance(part, str) else f"{part.co_qualname} ({part.co_filename})" for part in stack[::-1])
        text = ";".join(parts)
        found[text] = found.get(text, 0) + ns // NS_PER_US
    return found


def stack_of(frame: FrameType | None) -> Stack:
    """Return a stack, the innermost function first."""
    found = []
    while frame is not None:
        found.append(frame.f_code)
        frame = frame.f_back
    return tuple(found)


class Switch:
    """Samples for as long as there is a request: a file that says how often, and what its answer is to be called.

    Where that is not at all, only collections are told.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._request = ""
        self._sampler: Sampler | None = None

    def look(self) -> None:
        """See whether a request has come or gone."""
        try:
            request = Path(self._place + REQUEST).read_text(encoding="ascii")
        except FileNotFoundError:
            request = ""
        if request == self._request:
            return
        if self._sampler is not None:
            begun, answer = answers(self._place, os.getpid(), self._request)
            begun.write_text(json.dumps(self._sampler.end()), encoding="utf-8")
            begun.replace(answer)
            self._sampler = None
        self._request = request
        if request:
            answers(self._place, os.getpid(), request)[0].touch()
            self._sampler = Sampler(int(request.split()[0]))


def answers(place: str, pid: int, request: str) -> tuple[Path, Path]:
    """Return what a process writes when it has begun to do what was asked for, and when it has done it."""
    done = f"{place}.stacks.{pid}.{request.split()[1]}"
    return Path(done + UNFINISHED), Path(done)
