"""Waiting for an account to be free, for a bounded time and in turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.bars import Bar, Why
from litellm_evenkeel.rotation.line import Line
from litellm_evenkeel.rotation.picks import Full, Pick

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.pool import Pool

    IsThere = Callable[[int, Place], bool]

MOST_WAITING = 10_000
# Between two looks that nobody has called for.
SHORTEST, LONGEST = 0.005, 0.5


class Waiting:
    """The lines before all groups, in one event loop."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lines: dict[Group, _Before] = {}

    def is_line(self, group: Group) -> bool:
        """Return whether somebody waits already: who comes now does not go past them."""
        return group in self._lines

    def woken(self, group: Group) -> None:
        """Know that something may be free now."""
        before = self._lines.get(group)
        if before is not None:
            before.soon()

    async def wait(
        self, group: Group, asked: Asked, client: str, seconds: float, is_there: IsThere
    ) -> Pick | Full | None:
        """Return what was chosen when it was free in time; None where the candidates have changed meanwhile."""
        before = self._lines.get(group)
        if before is None:
            before = self._lines[group] = _Before(self._pool, group)
        if len(before.line) >= MOST_WAITING:
            return before.full
        loop = asyncio.get_running_loop()
        waiter = _Waiter(asked, client, is_there, loop.create_future())
        end = loop.call_later(seconds, before.give_up, waiter)
        before.line.join(client, waiter)
        before.serve()
        try:
            return await waiter.found
        except asyncio.CancelledError:
            found = None if waiter.found.cancelled() or not waiter.found.done() else waiter.found.result()
            if isinstance(found, Pick):
                # It was served in the very moment in which its client left.
                self._pool.release(found.lease)
            raise
        finally:
            end.cancel()
            before.line.leave(client, waiter)
            if before.line:
                # Who stood behind may be served with what was not enough here.
                before.soon()
            else:
                before.stop()
                if self._lines.get(group) is before:
                    del self._lines[group]

    def waiting(self) -> dict[str, int]:
        """Return how many wait for each model group."""
        found: dict[str, int] = {}
        for group, before in self._lines.items():
            found[group.name] = found.get(group.name, 0) + len(before.line)
        return found


class _Waiter:
    __slots__ = ("asked", "client", "found", "is_there")

    def __init__(self, asked: Asked, client: str, is_there: IsThere, found: asyncio.Future[Pick | Full | None]) -> None:
        self.asked, self.client, self.is_there, self.found = asked, client, is_there, found


class _Before:
    """The line before one group, and when it is looked at next."""

    def __init__(self, pool: Pool, group: Group) -> None:
        self._pool, self._group = pool, group
        self.line: Line[_Waiter] = Line()
        self.full = Full(1.0, None)
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._is_soon = False
        self._opens_in = LONGEST

    def soon(self) -> None:
        """Look again when all of this moment has happened."""
        if not self._is_soon:
            self.stop()
            self._is_soon = True
            self._timer = asyncio.get_running_loop().call_soon(self.serve)

    def serve(self) -> None:
        """Give what is free to those whose turn it is."""
        self.stop()
        self._opens_in = LONGEST
        self.line.serve(self._give)
        if self.line:
            pause = min(max(self._opens_in, SHORTEST), LONGEST)
            self._timer = asyncio.get_running_loop().call_later(pause, self.serve)

    def stop(self) -> None:
        """Look no more by itself."""
        self._is_soon = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def give_up(self, waiter: _Waiter) -> None:
        """Tell one that its time is over."""
        if not waiter.found.done():
            waiter.found.set_result(self.full)

    def _give(self, waiter: _Waiter) -> bool:
        if waiter.found.done():
            return True
        fairness, now = self._group.fairness, self._pool.now()
        pause = fairness.waits(waiter.client, now)
        if pause:
            # Nobody may be left who makes a pick, and with it a newer snapshot.
            self._pool.keep_fresh(self._group, now)
            self.full = Full(pause, Bar(Why.SHARED, now + pause, ""))
            self._opens_in = min(self._opens_in, pause)
            return False
        found = self._pool.pick(self._group, waiter.asked, waiter.is_there)
        if isinstance(found, Full):
            self.full = found
            self._opens_in = min(self._opens_in, found.opens_in)
            return False
        fairness.used(waiter.client, now)
        waiter.found.set_result(found)
        return True
