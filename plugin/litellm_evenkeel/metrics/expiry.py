"""Series that nobody has heard of for so long that LiteLLM's settings have them go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.metrics.families import Store

OFTEN = 60.0


@dataclass(frozen=True, slots=True)
class Lives:
    """For how many seconds of silence series stay, and how often that is looked at, in seconds; 0: at every chance."""

    all: float = math.inf
    """Any of them."""
    all_checked_every: float = OFTEN
    of_end_users: float = math.inf
    """Those of an end user."""
    of_end_users_checked_every: float = OFTEN


class Expiry:
    """Those of one store that are there when it begins."""

    def __init__(self, store: Store, lives: Lives, clock: Callable[[], float]) -> None:
        self._store, self._lives, self._clock = store, lives, clock
        self._families = [one for one in store.families.values() if one.labelnames]
        self._next = clock() + lives.all_checked_every
        self._next_of_end_users = clock() + lives.of_end_users_checked_every

    def look(self) -> None:
        """Remove what was silent for too long, if it is time to look."""
        now, lives = self._clock(), self._lives
        before = of_end_users_before = -math.inf
        if lives.all < math.inf and now >= self._next:
            before, self._next = now - lives.all, now + lives.all_checked_every
        if lives.of_end_users < math.inf and now >= self._next_of_end_users:
            of_end_users_before = now - lives.of_end_users
            self._next_of_end_users = now + lives.of_end_users_checked_every
        if max(before, of_end_users_before) == -math.inf:
            return
        with self._store.lock:
            expired = self._store.expired
            for family in self._families:
                family.expire(before, of_end_users_before)
            if self._store.expired > expired:
                self._store.epoch += 1
