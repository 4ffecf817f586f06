"""Measure the delay of a proxy's event loop. Python imports this module in every process of a measured proxy.

After the import of uvicorn, each server starts a task that sleeps for ten milliseconds repeatedly. Its delay is the
time that a ready request waits for the loop. The file LAG_OF_PROXY-PID gets lines with the time in nanoseconds and the
delay in microseconds, and is written once a second. The task also starts and ends recordings on request: profiles (see
stacks_of_proxy) and traces (see traces_of_proxy).

SEED_OF_PROXY, if given, seeds the random draws of a proxy's start. PATCH_OF_PROXY names a patch; see patches_of_proxy.

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


async def measure(path: str, server: Any) -> None:
    """Record the delay of the loop until it ends."""
    # These are in the same folder, and only servers need them.
    from probe_switch import STACKS, TRACES, Switch  # type: ignore[import-not-found]  # noqa: PLC0415
    from stacks_of_proxy import Sampler  # type: ignore[import-not-found]  # noqa: PLC0415
    from traces_of_proxy import Tracer  # type: ignore[import-not-found]  # noqa: PLC0415

    switches = [
        Switch(path, STACKS, lambda rate: Sampler(int(rate))),
        Switch(path, TRACES, lambda _: Tracer(server)),
    ]
    lines: list[str] = []
    # Not the loop's own clock: that of uvloop has a resolution of milliseconds.
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
                for switch in switches:
                    switch.look()
                flushed = now


def patch(server: ModuleType, path: str) -> None:
    """Make each server measure from its start on."""
    # A proxy without this measurement is better than none.
    if not hasattr(server, "Server"):
        return
    startup = server.Server.startup

    async def measured(self: Any, *arguments: Any, **named: Any) -> None:
        # Imports draw an unknown number of times before this.
        if "SEED_OF_PROXY" in os.environ:
            random.seed(int(os.environ["SEED_OF_PROXY"]))
        await startup(self, *arguments, **named)
        # A loop has weak references to tasks only.
        self.evenkeel_lag = asyncio.create_task(measure(path, self))

    server.Server.startup = measured


class Finder(importlib.abc.MetaPathFinder):
    """Import hook that patches one module after its import."""

    def __init__(self, name: str, patched: Callable[[ModuleType], None]) -> None:
        self._name, self._patched = name, patched

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's usual spec, with a loader that patches it."""
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
