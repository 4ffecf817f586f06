"""Accounts, and models at them, without any deployment: what was used of them still counts if one comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.windows import HAIR

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.side import Key, Side

# Whoever asks for models that nobody has heard of cannot fill our memory with them.
MOST = 1000


class Idle:
    """The latest of them. All times are the same clock's, in seconds."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sides: dict[Key, Side] = {}

    def add(self, side: Side, now: float) -> list[Side]:
        """Keep one, and return those for which there is no more room: first those of which nothing counts."""
        self._sides[side.key] = side
        if len(self._sides) <= self._most:
            return []
        found = self.spent(now)
        return found + [self._sides.pop(next(iter(self._sides))) for _ in range(len(self._sides) - self._most)]

    def wakes(self, key: Key) -> None:
        """Know that one is used again."""
        self._sides.pop(key, None)

    def spent(self, now: float) -> list[Side]:
        """Let those go of which nothing counts any more, and return them."""
        counting = {side.key for side in self._sides.values() if _counts(side, now)}
        # An account goes after all its models.
        counting |= {(account, None) for account, _ in counting}
        found = [side for key, side in self._sides.items() if key not in counting]
        for side in found:
            del self._sides[side.key]
        return found


def _counts(side: Side, now: float) -> bool:
    is_used = any(window.remains(now) + HAIR < window.limit.amount for window in side.windows)
    return is_used or side.in_flight > 0 or side.hold.kind is not None
