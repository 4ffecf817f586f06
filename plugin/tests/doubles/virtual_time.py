"""An event loop whose time passes at once: a wait takes no time, and `time()` says how long it would have taken."""

from __future__ import annotations

import asyncio
import selectors


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Event loop for tests of what happens over time, without any I/O."""

    def __init__(self) -> None:
        self._now = 1_000_000.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def pass_time(self, seconds: float) -> None:
        self._now += seconds


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nothing will ever happen"
        self._loop.pass_time(timeout)
        return super().select(0)
