"""When refusals that may concern one request only prove that an account is dead."""

from __future__ import annotations

import math

# So many in a row, none of which had begun before the last was known.
PROOF = 3
# Of one client alone, over so many seconds at least: it may ask for what is forbidden to it, again and again.
ALONE_SECONDS = 600.0


class ForbiddenStreak:
    """What has been refused at one account since its last success. All times are the same clock's, in seconds."""

    __slots__ = ("_client", "_first", "_is_shared", "_last", "_number")

    def __init__(self) -> None:
        self._number, self._client, self._is_shared = 0, "", False
        self._first = self._last = -math.inf

    def record_forbidden(self, client: str, began: float, now: float) -> bool:
        """Know of one more, and return whether they are proof: of several clients, or of one for long enough."""
        if began < self._last:
            return False
        if not self._number:
            self._client, self._first = client, now
        self._number += 1
        self._last = now
        self._is_shared = self._is_shared or client != self._client
        return self._number >= PROOF and (self._is_shared or now >= self._first + ALONE_SECONDS)

    def clear(self) -> None:
        """Know of a success, or of an operator's word."""
        self._number, self._is_shared, self._last = 0, False, -math.inf
