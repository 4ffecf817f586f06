"""All accounts and models at them that are known, and what was heard of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.idle import Idle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from litellm_evenkeel.rotation.held import Held
    from litellm_evenkeel.rotation.side import Key, Side

# Of accounts that nobody has asked for here, so many are remembered.
MOST_HEARD = 10_000


class Sides:
    """Those of one pool. All times are the same clock's, in seconds."""

    def __init__(self, make: Callable[[Key], Side]) -> None:
        self._make = make
        self.known: dict[Key, Side] = {}
        self._by_account: dict[str, dict[Key, Side]] = {}
        self._idle = Idle()
        self._heard: dict[Key, Held] = {}
        """Of accounts, or of keys of theirs, that nobody has asked for here yet."""

    def of(self, key: Key) -> Side:
        """Return one that is asked for."""
        self._idle.wakes(key)
        side = self.known.get(key)
        if side is None:
            side = self.known[key] = self._make(key)
            self._by_account.setdefault(key[0], {})[key] = side
        return side

    def of_account(self, account: str) -> list[Side]:
        """Return an account and all its models."""
        return list(self._by_account.get(account, {}).values())

    def rests(self, side: Side, now: float) -> None:
        """Know that one may have no deployment any more."""
        if not side.places:
            self._drop(self._idle.add(side, now), now)

    def tidy(self, now: float) -> None:
        """Let those go that have no deployment, and of which nothing counts any more."""
        self._drop(self._idle.spent(now), now)

    def remember(self, held: Held, now: float) -> None:
        """Remember what was heard of one that nobody has asked for."""
        key = (held.account, held.model)
        if len(self._heard) >= MOST_HEARD and key not in self._heard:
            self._heard = {key: one for key, one in self._heard.items() if one.until > now}
        if len(self._heard) < MOST_HEARD or key in self._heard:
            self._heard[key] = held

    def recall(self, key: Key) -> Held | None:
        """Return what was heard, and remember it no longer."""
        return self._heard.pop(key, None)

    def forget(self, account: str) -> bool:
        """Forget what was heard of an account; return whether there was anything."""
        heard = [key for key in self._heard if key[0] == account]
        for key in heard:
            del self._heard[key]
        return bool(heard)

    def _drop(self, sides: Iterable[Side], now: float) -> None:
        for side in sides:
            del self.known[side.key]
            account, _ = side.key
            del self._by_account[account][side.key]
            if not self._by_account[account]:
                del self._by_account[account]
            if side.hold.kind is not None and side.hold.until > now:
                self.remember(side.held(), now)
