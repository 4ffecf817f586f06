"""A store within one process: what the script does, in Python. It is what the script's arithmetic is proved with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.shared.asks import LATER, Reply, SideAnswer, SlotsAnswer, WindowAnswer
from litellm_evenkeel.rotation.windows import HAIR

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.shared.asks import Call, Return, SideAsk, SlotsAsk, Told, WindowAsk

# Who has lacked a slot within so many seconds still does.
HUNGRY = 0.5


@dataclass(slots=True)
class Known:
    """What a provider has said last."""

    left: float
    since: float
    ends: float


@dataclass(slots=True)
class Tally:
    """What is counted of one window."""

    parts: dict[int, float] = field(default_factory=dict)
    known: Known | None = None

    def answer(self, ask: WindowAsk, now: float, workers: int, *, is_closed: bool) -> WindowAnswer:
        """Count, and grant what there is."""
        current = math.floor(now / ask.width)
        oldest = current - ask.parts - LATER + 1
        self._forget(ask, now, oldest)
        for one in ask.returns:
            self._take_back(one, ask.width)
        for debt in ask.debts:
            if debt.part >= oldest:
                self._count(min(debt.part, current), debt.amount)
        if ask.told and (self.known is None or ask.told.began >= self.known.since):
            self._believe(ask, ask.told, now)
        used = sum(self.parts.values())
        left = min(ask.limit - used, self.known.left if self.known else math.inf)
        if is_closed:
            return WindowAnswer(current, 0.0, left, 0.0)
        if ask.demand > left + HAIR:
            return WindowAnswer(current, 0.0, left, self._opens_in(ask, used, now))
        extra = max(min(ask.ahead, (left - ask.demand) / (2 * workers)), 0.0)
        granted = ask.demand + (math.floor(extra + HAIR) if ask.is_whole else extra)
        if granted > 0:
            self._count(current, granted)
        return WindowAnswer(current, granted, left - granted, 0.0)

    def _forget(self, ask: WindowAsk, now: float, oldest: int) -> None:
        if self.known and self.known.ends <= now:
            oldest = max(oldest, math.floor(self.known.since / ask.width) - 1)
            self.known = None
        self.parts = {part: amount for part, amount in self.parts.items() if part >= oldest}

    def _count(self, part: int, amount: float) -> None:
        self._put(part, self.parts.get(part, 0.0) + amount)
        if self.known:
            self.known.left -= amount

    def _take_back(self, one: Return, width: float) -> None:
        amount = one.amount
        for part in range(one.first, one.last + 1):
            gone = min(self.parts.get(part, 0.0), amount)
            if gone > 0:
                self._put(part, self.parts[part] - gone)
                amount -= gone
                if self.known and part >= math.floor(self.known.since / width) - 1:
                    self.known.left += gone

    def _believe(self, ask: WindowAsk, told: Told, now: float) -> None:
        since = math.floor(told.began / ask.width) - 1
        later = sum(amount for part, amount in self.parts.items() if part >= since)
        left = max(min(told.left, ask.limit) - later, 0.0)
        self.known = Known(left, told.began, now + told.resets_in)
        surplus = sum(self.parts.values()) - (ask.limit - left)
        for part in sorted(self.parts):
            if surplus <= HAIR:
                break
            gone = min(self.parts[part], surplus)
            self._put(part, self.parts[part] - gone)
            surplus -= gone

    def _opens_in(self, ask: WindowAsk, used: float, now: float) -> float:
        if self.known and self.known.left < ask.demand:
            return self.known.ends - now
        over, told = used + ask.demand - ask.limit, 0.0
        for part in sorted(self.parts):
            if over <= HAIR:
                break
            over -= self.parts[part]
            told = (part + ask.parts + LATER) * ask.width - now
        return told

    def _put(self, part: int, amount: float) -> None:
        if amount > HAIR:
            self.parts[part] = amount
        else:
            self.parts.pop(part, None)


@dataclass(slots=True)
class Account:
    """What is counted of one side."""

    windows: dict[str, Tally] = field(default_factory=dict)
    slots: dict[str, tuple[int, float]] = field(default_factory=dict)
    queue: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Who has no slot: since when, and when that was last said."""


class MemoryStore:
    """A store that is as its script is; `clock` is its own."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.sides: dict[str, Account] = {}
        self._alive: dict[str, float] = {}
        self._epoch = ""
        self._opens = 0.0

    async def exchange(self, call: Call) -> Reply:
        """Ask, all at once."""
        return self.answer(call)

    def answer(self, call: Call) -> Reply:
        """Count, and grant what there is."""
        now = self._clock()
        self._alive[call.worker] = -math.inf if call.leaves else now
        self._alive = {worker: at for worker, at in self._alive.items() if at > now - call.gone}
        others = sum(at >= now - call.fresh for worker, at in self._alive.items() if worker != call.worker)
        self._epoch = self._epoch or call.new_epoch
        differs = call.epoch not in {"", self._epoch}
        if (differs or (call.rejoins and not others)) and now >= self._opens:
            self._opens = now + call.settle
        sides = () if differs else tuple(self._side(call, ask, now) for ask in call.sides)
        return Reply(now, self._epoch, self._opens, max(len(self._alive), 1), sides)

    def forget(self) -> None:
        """Lose everything, as a server that starts anew does."""
        self.sides.clear()
        self._alive.clear()
        self._epoch, self._opens = "", 0.0

    async def drop(self) -> None:
        """Have no connections."""

    async def close(self) -> None:
        """Have nothing to let go of."""

    def _side(self, call: Call, ask: SideAsk, now: float) -> SideAnswer:
        account = self.sides.setdefault(ask.key, Account())
        is_closed = now < self._opens
        windows = tuple(
            account.windows.setdefault(one.name, Tally()).answer(
                one, now, max(len(self._alive), 1), is_closed=is_closed
            )
            for one in ask.windows
        )
        slots = self._slots(account, call, ask.slots, now, is_closed=is_closed) if ask.slots else None
        return SideAnswer(windows, slots)

    @staticmethod
    def _slots(account: Account, call: Call, ask: SlotsAsk, now: float, *, is_closed: bool) -> SlotsAnswer:
        account.slots = {
            worker: one for worker, one in account.slots.items() if one[1] > now - call.gone and worker != call.worker
        }
        others = sum(number for number, _ in account.slots.values())
        account.queue = {worker: one for worker, one in account.queue.items() if one[1] > now - HUNGRY}
        since, _ = account.queue.pop(call.worker, (now, now))
        before = sum(one[0] < since for one in account.queue.values())
        granted = ask.in_flight if is_closed else max(ask.in_flight, min(ask.wanted, ask.limit - others - before))
        answer = SlotsAnswer(granted, bool(account.queue))
        if granted > 0:
            account.slots[call.worker] = granted, now
        elif ask.lacks:
            account.queue[call.worker] = since, now
        return answer
