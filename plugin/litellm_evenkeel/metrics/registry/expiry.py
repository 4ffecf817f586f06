"""Series that nobody has heard of for so long that LiteLLM's settings have them go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.metrics.registry.families import MetricStore

OFTEN = 60.0


@dataclass(frozen=True, slots=True)
class SeriesTtl:
    """For how many seconds of silence series stay, and how often that is looked at, in seconds; 0: at every chance."""

    all: float = math.inf
    """Any of them."""
    all_checked_every: float = OFTEN
    of_end_users: float = math.inf
    """Those of an end user."""
    of_end_users_checked_every: float = OFTEN


class SeriesExpiry:
    """Those of one store that are there when it begins."""

    def __init__(self, store: MetricStore, ttl: SeriesTtl, clock: Callable[[], float]) -> None:
        self._store, self._ttl, self._clock = store, ttl, clock
        self._families = [one for one in store.families.values() if one.labelnames]
        self._next = clock() + ttl.all_checked_every
        self._next_of_end_users = clock() + ttl.of_end_users_checked_every

    def look(self) -> None:
        """Remove what was silent for too long, if it is time to look."""
        now, ttl = self._clock(), self._ttl
        before = of_end_users_before = -math.inf
        if ttl.all < math.inf and now >= self._next:
            before, self._next = now - ttl.all, now + ttl.all_checked_every
        if ttl.of_end_users < math.inf and now >= self._next_of_end_users:
            of_end_users_before = now - ttl.of_end_users
            self._next_of_end_users = now + ttl.of_end_users_checked_every
        if max(before, of_end_users_before) == -math.inf:
            return
        with self._store.lock:
            expired = self._store.expired
            for family in self._families:
                family.expire(before, of_end_users_before)
            if self._store.expired > expired:
                self._store.epoch += 1
