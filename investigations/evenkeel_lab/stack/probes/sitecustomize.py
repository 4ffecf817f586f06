"""Says how late a proxy's event loop is: read by Python itself in every process of a proxy that is measured.

It waits until uvicorn has been imported, and has each of its servers sleep for a hundredth of a second again and again.
By how much it oversleeps is how long a request waits before anything is done for it. One line a second, nanoseconds of
Unix time and microseconds of lateness, goes to the file named in LAG_OF_PROXY and the process's number. Once a second,
too, it looks whether somebody wants a profile and cannot take it from the outside; see stacks_of_proxy.

What a proxy draws when it starts, it draws from SEED_OF_PROXY, if that is given. What PATCH_OF_PROXY names is left out,
or done otherwise; see patches_of_proxy.

Only the standard library: this runs inside LiteLLM's environment.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.abc
import importlib.util
import os
import random
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

SLEEP_SECONDS, FLUSH_SECONDS = 0.01, 1.0
SERVER = "uvicorn.server"


async def measure(path: str) -> None:
    """Write down how late the loop is, until it ends."""
    from stacks_of_proxy import Switch  # type: ignore[import-not-found]  # noqa: PLC0415  # lies beside, only servers need it

    switch = Switch(path)
    lines: list[str] = []
    # Not the loop's own clock: uvloop's tells milliseconds.
    flushed = time.perf_counter()
    with open(f"{path}-{os.getpid()}", "a", encoding="ascii") as file:  # noqa: PTH123, ASYNC230  # a line a second
        while True:
            began = time.perf_counter()
            await asyncio.sleep(SLEEP_SECONDS)
            now = time.perf_counter()
            lines.append(f"{time.time_ns()} {(now - began - SLEEP_SECONDS) * 1e6:.0f}\n")
            if now - flushed > FLUSH_SECONDS:
                file.writelines(lines)
                file.flush()
                lines.clear()
                switch.look()
                flushed = now


def patch(server: ModuleType, path: str) -> None:
    """Let each server measure from its start on."""
    # A proxy that cannot be measured is better than none.
    if not hasattr(server, "Server"):
        return
    startup = server.Server.startup

    async def measured(self: Any, *arguments: Any, **named: Any) -> None:
        # Here, because nobody knows how often imports have drawn before.
        if "SEED_OF_PROXY" in os.environ:
            random.seed(int(os.environ["SEED_OF_PROXY"]))
        await startup(self, *arguments, **named)
        # Held, because a loop forgets tasks that nobody holds.
        self.evenkeel_lag = asyncio.create_task(measure(path))

    server.Server.startup = measured


class Finder(importlib.abc.MetaPathFinder):
    """Finds a module as everybody does, and has it patched once it is there."""

    def __init__(self, name: str, patched: Callable[[ModuleType], None]) -> None:
        self._name, self._patched = name, patched

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the ordinary one, with a loader that patches."""
        del path, target
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._patched(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if "LAG_OF_PROXY" in os.environ:
    sys.meta_path.insert(0, Finder(SERVER, functools.partial(patch, path=os.environ["LAG_OF_PROXY"])))
if "PATCH_OF_PROXY" in os.environ:
    from patches_of_proxy import PATCHES  # type: ignore[import-not-found]  # as above

    sys.meta_path.insert(0, Finder(*PATCHES[os.environ["PATCH_OF_PROXY"]]))
