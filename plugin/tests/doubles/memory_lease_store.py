"""A store within one process: what the script does, in Python. It is what the script's arithmetic is proved with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.quota_sharing.protocol import (
    LEASE_PARTS,
    LeaseResponse,
    ScopeGrant,
    SlotsGrant,
    WindowGrant,
)
from litellm_evenkeel.rotation.state.quota_window import EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.quota_sharing.protocol import (
        LeaseRequest,
        LeaseReturn,
        ProviderReport,
        ScopeRequest,
        SlotsRequest,
        WindowRequest,
    )

# A worker that lacked a slot within this number of seconds still does.
HUNGRY = 0.5


@dataclass(slots=True)
class Known:
    """The last limit reading of a provider."""

    left: float
    since: float
    ends: float


@dataclass(slots=True)
class Tally:
    """Usage of one quota window."""

    parts: dict[int, float] = field(default_factory=dict)
    known: Known | None = None

    def answer(self, ask: WindowRequest, now: float, workers: int, *, is_closed: bool) -> WindowGrant:
        """Count, and grant what there is."""
        current = math.floor(now / ask.part_seconds)
        oldest = current - ask.parts - LEASE_PARTS + 1
        self._forget(ask, now, oldest)
        for one in ask.returns:
            self._take_back(one, ask.part_seconds)
        for debt in ask.unleased:
            if debt.part >= oldest:
                self._count(min(debt.part, current), debt.amount)
        if ask.provider_report and ask.provider_report.left < 0:
            self.known = None
        elif ask.provider_report and (self.known is None or ask.provider_report.began >= self.known.since):
            self._believe(ask, ask.provider_report, now)
        used = sum(self.parts.values())
        left = min(ask.limit - used, self.known.left if self.known else math.inf)
        if is_closed:
            return WindowGrant(current, 0.0, left, 0.0)
        if ask.needed > left + EPSILON:
            return WindowGrant(current, 0.0, left, self._opens_in(ask, used, now))
        extra = max(min(ask.prefetch, (left - ask.needed) / (2 * workers)), 0.0)
        granted = ask.needed + (math.floor(extra + EPSILON) if ask.is_integral else extra)
        if granted > 0:
            self._count(current, granted)
        return WindowGrant(current, granted, left - granted, 0.0)

    def _forget(self, ask: WindowRequest, now: float, oldest: int) -> None:
        if self.known and self.known.ends <= now:
            oldest = max(oldest, math.floor(self.known.since / ask.part_seconds) - 1)
            self.known = None
        self.parts = {part: amount for part, amount in self.parts.items() if part >= oldest}

    def _count(self, part: int, amount: float) -> None:
        self._put(part, self.parts.get(part, 0.0) + amount)
        if self.known:
            self.known.left -= amount

    def _take_back(self, one: LeaseReturn, width: float) -> None:
        amount = one.amount
        for part in range(one.first, one.last + 1):
            gone = min(self.parts.get(part, 0.0), amount)
            if gone > 0:
                self._put(part, self.parts[part] - gone)
                amount -= gone
                if self.known and part >= math.floor(self.known.since / width) - 1:
                    self.known.left += gone

    def _believe(self, ask: WindowRequest, told: ProviderReport, now: float) -> None:
        since = math.floor(told.began / ask.part_seconds) - 1
        later = sum(amount for part, amount in self.parts.items() if part >= since)
        left = max(min(told.left, ask.limit) - later, 0.0)
        self.known = Known(left, told.began, now + told.resets_in)
        surplus = sum(self.parts.values()) - (ask.limit - left)
        for part in sorted(self.parts):
            if surplus <= EPSILON:
                break
            gone = min(self.parts[part], surplus)
            self._put(part, self.parts[part] - gone)
            surplus -= gone

    def _opens_in(self, ask: WindowRequest, used: float, now: float) -> float:
        if self.known and self.known.left < ask.needed:
            return self.known.ends - now
        over, told = used + ask.needed - ask.limit, 0.0
        for part in sorted(self.parts):
            if over <= EPSILON:
                break
            over -= self.parts[part]
            told = (part + ask.parts + LEASE_PARTS) * ask.part_seconds - now
        return told

    def _put(self, part: int, amount: float) -> None:
        if amount > EPSILON:
            self.parts[part] = amount
        else:
            self.parts.pop(part, None)


@dataclass(slots=True)
class Account:
    """Usage of one scope."""

    windows: dict[str, Tally] = field(default_factory=dict)
    slots: dict[str, tuple[int, float]] = field(default_factory=dict)
    queue: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Workers without a slot: since when, and when they last reported it."""


class MemoryStore:
    """A store that is as its script is; `clock` is its own."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.sides: dict[str, Account] = {}
        self._alive: dict[str, float] = {}
        self._epoch = ""
        self._opens = self._outage = 0.0
        self._expected = 0

    async def exchange(self, call: LeaseRequest) -> LeaseResponse:
        """Ask, all at once."""
        return self.answer(call)

    def answer(self, call: LeaseRequest) -> LeaseResponse:
        """Count, and grant what there is."""
        now = self._clock()
        self._alive[call.worker] = -math.inf if call.leaves else now
        self._alive = {worker: at for worker, at in self._alive.items() if at > now - call.gone_seconds}
        others = sum(at >= now - call.fresh_seconds for worker, at in self._alive.items() if worker != call.worker)
        self._epoch = self._epoch or call.new_epoch
        differs = call.epoch not in {"", self._epoch}
        if (differs or (call.rejoins and not others)) and now >= self._opens:
            self._opens = now + call.grace_period
            self._outage, self._expected = now, call.workers
        elif now < self._opens and sum(at >= self._outage for at in self._alive.values()) < self._expected:
            self._opens = max(self._opens, min(now, self._outage + call.gone_seconds) + call.grace_period)
        sides = () if differs else tuple(self._side(call, ask, now) for ask in call.scopes)
        return LeaseResponse(now, self._epoch, self._opens, max(len(self._alive), 1), sides)

    def forget(self) -> None:
        """Lose everything, as a server that starts anew does."""
        self.sides.clear()
        self._alive.clear()
        self._epoch, self._opens = "", 0.0

    async def drop(self) -> None:
        """Do nothing: there are no connections."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _side(self, call: LeaseRequest, ask: ScopeRequest, now: float) -> ScopeGrant:
        account = self.sides.setdefault(ask.key, Account())
        is_closed = now < self._opens
        windows = tuple(
            account.windows.setdefault(one.name, Tally()).answer(
                one, now, max(len(self._alive), 1), is_closed=is_closed
            )
            for one in ask.windows
        )
        slots = self._slots(account, call, ask.slots, now, is_closed=is_closed) if ask.slots else None
        return ScopeGrant(windows, slots)

    @staticmethod
    def _slots(account: Account, call: LeaseRequest, ask: SlotsRequest, now: float, *, is_closed: bool) -> SlotsGrant:
        account.slots = {
            worker: one
            for worker, one in account.slots.items()
            if one[1] > now - call.gone_seconds and worker != call.worker
        }
        others = sum(number for number, _ in account.slots.values())
        account.queue = {worker: one for worker, one in account.queue.items() if one[1] > now - HUNGRY}
        since, _ = account.queue.pop(call.worker, (now, now))
        before = sum(one[0] < since for one in account.queue.values())
        granted = ask.held if is_closed else max(ask.held, min(ask.wanted, ask.limit - others - before))
        answer = SlotsGrant(granted, bool(account.queue))
        if granted > 0:
            account.slots[call.worker] = granted, now
        elif ask.is_waiting:
            account.queue[call.worker] = since, now
        return answer
