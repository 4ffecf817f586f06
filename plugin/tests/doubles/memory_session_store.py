"""Pins in this process alone: for tests, and where there is one worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class MemorySessionStore:
    """Pins that end with the process; the clock tells seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pins: dict[str, tuple[str, float]] = {}
        self._pruned_at = 0

    async def get(self, key: str) -> str | None:
        """Return the account that a session is pinned to."""
        account, until = self._pins.get(key, (None, 0.0))
        return account if self._clock() < until else None

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        """Pin a session, and return the account that it is pinned to afterwards."""
        held = await self.get(key) if only_if_absent else None
        if held not in {None, account}:
            assert held is not None
            return held
        self._pins[key] = (account, self._clock() + ttl)
        if len(self._pins) > 2 * self._pruned_at + 1000:
            now = self._clock()
            self._pins = {key: pin for key, pin in self._pins.items() if now < pin[1]}
            self._pruned_at = len(self._pins)
        return account

    async def drop_account(self, account: str) -> None:
        """Forget all pins of an account."""
        self._pins = {key: pin for key, pin in self._pins.items() if pin[0] != account}

    async def close(self) -> None:
        """Nothing is held."""
