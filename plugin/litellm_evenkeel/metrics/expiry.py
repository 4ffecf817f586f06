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
    """For how many seconds of silence series stay."""

    all: float = math.inf
    """Any of them; then they are gone."""
    of_end_users: float = math.inf
    """Those of an end user; what they have come to is then counted with the others."""
    looked_at: float = OFTEN
    """How often that is looked at."""


class Expiry:
    """Those of one store that are there when it begins."""

    def __init__(self, store: Store, lives: Lives, clock: Callable[[], float]) -> None:
        self._store, self._lives, self._clock = store, lives, clock
        self._families = [one for one in store.families.values() if one.labelnames]
        self._next = clock() + lives.looked_at

    def look(self) -> None:
        """Let go what was silent for too long, if it is time to look."""
        now, lives = self._clock(), self._lives
        if now < self._next or min(lives.all, lives.of_end_users) == math.inf:
            return
        self._next = now + lives.looked_at
        with self._store.lock:
            before = self._store.expired
            for family in self._families:
                family.expire(now - lives.all, now - lives.of_end_users)
            if self._store.expired > before:
                self._store.epoch += 1
