"""Errors of ours, of which no request is to know: counted, and logged so seldom that a log survives them."""

from __future__ import annotations

import logging
import time
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# One of them is logged in so many seconds.
QUIET_SECONDS = 30.0


class ErrorReporter:
    """All of one part of the plugin."""

    def __init__(self, part: str, count: Callable[[str], None] = lambda _: None) -> None:
        self._log, self._count = logging.getLogger(f"litellm_evenkeel.{part}"), count
        self.counts: dict[str, int] = {}
        self._quiet_until = 0.0

    def report(self, where: str, error: Exception) -> None:
        """Know of one. Its text may hold what a client or a provider wrote, so only its kind and its place are told."""
        self.counts[where] = self.counts.get(where, 0) + 1
        self._count(where)
        now = time.monotonic()
        if now < self._quiet_until:
            return
        self._quiet_until = now + QUIET_SECONDS
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        places = ", ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
        self._log.error(
            "evenkeel: %s failed (%s at %s); LiteLLM goes on without it. %d times so far. Please report it.",
            where,
            type(error).__name__,
            places,
            self.counts[where],
        )
