"""Waiting for an account to be free, for a bounded time and in turn."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.bars import Bar, Why
from litellm_evenkeel.rotation.line import Answer, Line
from litellm_evenkeel.rotation.need import Need
from litellm_evenkeel.rotation.picks import Full, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.pool import Pool

    IsThere = Callable[[int, Place], bool]
    Failed = Callable[[str, Exception], None]

MOST_WAITING = 10_000
# Between two looks that nobody has called for.
SHORTEST, LONGEST = 0.005, 0.5
# For so long it is offered at once; then others have the loop.
TURN_SECONDS = 0.004
# For which share of its time a request may be passed by smaller ones of its client.
PASSED_SHARE = 0.5


class Waiting:
    """The lines before all groups, in one event loop."""

    def __init__(self, pool: Pool, failed: Failed = lambda _where, _error: None) -> None:
        self._pool, self._failed = pool, failed
        self._lines: dict[Group, _Before] = {}

    def is_line(self, group: Group) -> bool:
        """Return whether somebody waits already: who comes now has its turn among them."""
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
            before = self._lines[group] = _Before(self._pool, group, self._failed)
        if len(before.line) >= MOST_WAITING:
            return before.full
        loop = asyncio.get_running_loop()
        waiter = _Waiter(asked, client, is_there, loop.time() + seconds * PASSED_SHARE)
        end = loop.call_later(seconds, before.give_up, waiter)
        before.line.join(client, waiter, asked.need.tokens)
        before.joined(waiter)
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
            is_unserved = before.line.leave(client, waiter)
            if not before.line:
                before.stop()
                if self._lines.get(group) is before:
                    del self._lines[group]
            elif is_unserved:
                # Who stood behind may be served with what was not enough here.
                before.soon()

    def waiting(self) -> dict[str, int]:
        """Return how many wait for each model group."""
        found: dict[str, int] = {}
        for group, before in self._lines.items():
            found[group.name] = found.get(group.name, 0) + len(before.line)
        return found


class _Waiter:
    __slots__ = ("asked", "client", "found", "is_there", "passed_until")

    def __init__(self, asked: Asked, client: str, is_there: IsThere, passed_until: float) -> None:
        self.asked, self.client, self.is_there, self.passed_until = asked, client, is_there, passed_until
        self.found: asyncio.Future[Pick | Full | None] = asyncio.get_running_loop().create_future()


class _Before:
    """The line before one group, and when it is looked at next.

    It is offered in rounds, by clients' turns. What was refused to one is offered to no other that needs as much or
    more, and when there is nothing for the smallest of all, the round is over; so a round in vain looks at the accounts
    but once. A request that is too large for what there is keeps its place, and those of its client that need less go
    past it, for half of its time: from then on they stay behind it.
    """

    def __init__(self, pool: Pool, group: Group, failed: Failed) -> None:
        self._pool, self._group, self._failed = pool, group, failed
        self.line: Line[_Waiter] = Line()
        self.full = Full(1.0, None)
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._round: Iterator[None] | None = None
        self._is_soon = False
        self._opens_in = LONGEST
        self._refused = math.inf
        """So many tokens, or more, nobody needs to be offered in this round."""
        self._is_least_open = False
        """Whether there was something for the smallest, when it was looked for last."""

    def joined(self, waiter: _Waiter) -> None:
        """Look whether there is something for one who has come, unless it is known that there is not."""
        full = self._pool.known_full(self._group, waiter.asked)
        if full is None:
            self.soon()
            return
        self.full = full
        if self._timer is None:
            self._later(full.opens_in)

    def soon(self) -> None:
        """Look again when all of this moment has happened."""
        self._refused = math.inf
        if not self._is_soon:
            self._is_soon = True
            # A round that is on its way is ended first: nobody may come off badly because much happens.
            if self._round is None:
                self._next(asyncio.get_running_loop().call_soon(self._serve))

    def stop(self) -> None:
        """Look no more by itself."""
        self._is_soon, self._round = False, None
        self._next(None)

    def give_up(self, waiter: _Waiter) -> None:
        """Tell one that its time is over."""
        if not waiter.found.done():
            waiter.found.set_result(self.full)

    def _serve(self) -> None:
        """Give what is free to those whose turn it is, as far as it can be done in a moment."""
        # What has called this is over: who comes next has to be looked for anew.
        self._timer = None
        try:
            self._go_on()
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody is left to wait for nothing
            self.stop()
            self._failed("serving those who wait", error)
            for waiter in self.line:
                if not waiter.found.done():
                    # They look for themselves.
                    waiter.found.set_result(None)

    def _go_on(self) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + TURN_SECONDS
        if self._round is None:
            self._is_soon, self._is_least_open = False, False
            self._refused, self._opens_in = math.inf, LONGEST
            self._round = self.line.serve(self._offer)
        for _ in self._round:
            if self._refused <= self.line.least:
                break
            if loop.time() >= ends:
                self._next(loop.call_soon(self._serve))
                return
        self._round = None
        if self._is_soon:
            self._next(loop.call_soon(self._serve))
        elif self.line:
            self._later(self._opens_in)

    def _later(self, seconds: float) -> None:
        self._next(asyncio.get_running_loop().call_later(min(max(seconds, SHORTEST), LONGEST), self._serve))

    def _next(self, timer: asyncio.TimerHandle | asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _offer(self, waiter: _Waiter) -> Answer:
        if waiter.found.done():
            return Answer.PASSED
        if waiter.asked.need.tokens >= self._refused:
            return self._waits_on(waiter)
        fairness, now = self._group.fairness, self._pool.now()
        pause = fairness.waits(waiter.client, now)
        if pause:
            # Nobody may be left who makes a pick, and with it a newer snapshot.
            self._pool.keep_fresh(self._group, now)
            self.full = Full(pause, Bar(Why.SHARED, now + pause, ""))
            self._opens_in = min(self._opens_in, pause)
            return Answer.KEPT
        found = self._pool.pick(self._group, waiter.asked, waiter.is_there)
        if isinstance(found, Full):
            self.full = found
            self._opens_in = min(self._opens_in, found.opens_in)
            self._is_refused(waiter.asked)
            return self._waits_on(waiter)
        fairness.used(waiter.client, now)
        waiter.found.set_result(found)
        self._is_least_open = False
        return Answer.TAKEN

    def _is_refused(self, asked: Asked) -> None:
        if not asked.tried:
            # Who has tried some of them may be refused what others are not.
            self._refused = min(self._refused, asked.need.tokens)
        least = self.line.least
        if least < self._refused and not self._is_least_open:
            self._is_least_open = not self._pool.is_full(self._group, Need(tokens=least))
            if not self._is_least_open:
                self._refused = least

    @staticmethod
    def _waits_on(waiter: _Waiter) -> Answer:
        is_passed = asyncio.get_running_loop().time() < waiter.passed_until
        return Answer.PASSED if is_passed else Answer.KEPT
