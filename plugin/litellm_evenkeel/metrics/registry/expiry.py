"""Expiry of idle series, according to LiteLLM's settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.metrics.registry.families import MetricStore

DEFAULT_CHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SeriesTtl:
    """Seconds without an update after which series expire, and seconds between checks; 0 checks at every flush."""

    all_seconds: float = math.inf
    """Lifetime of any series; `inf` if they do not expire."""
    all_check_seconds: float = DEFAULT_CHECK_SECONDS
    end_user_seconds: float = math.inf
    """Lifetime of the series of end users; `inf` if they do not expire."""
    end_user_check_seconds: float = DEFAULT_CHECK_SECONDS


class SeriesExpiry:
    """Expiry of the labelled families that a store has when this object is made."""

    def __init__(self, store: MetricStore, ttl: SeriesTtl, clock: Callable[[], float]) -> None:
        self._store, self._ttl, self._clock = store, ttl, clock
        self._families = [family for family in store.families.values() if family.labelnames]
        self._next_check_at = clock() + ttl.all_check_seconds
        self._next_end_user_check_at = clock() + ttl.end_user_check_seconds

    def expire_due(self) -> None:
        """Remove series that were idle for too long, if a check is due."""
        now, ttl = self._clock(), self._ttl
        before = end_user_before = -math.inf
        if ttl.all_seconds < math.inf and now >= self._next_check_at:
            before, self._next_check_at = now - ttl.all_seconds, now + ttl.all_check_seconds
        if ttl.end_user_seconds < math.inf and now >= self._next_end_user_check_at:
            end_user_before = now - ttl.end_user_seconds
            self._next_end_user_check_at = now + ttl.end_user_check_seconds
        if max(before, end_user_before) == -math.inf:
            return
        with self._store.lock:
            expired_count = self._store.expired_count
            for family in self._families:
                family.expire(before, end_user_before)
            if self._store.expired_count > expired_count:
                self._store.epoch += 1
