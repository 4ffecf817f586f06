"""Errors of the plugin itself, which no request may notice. They are counted, and logged at a bounded rate."""

from __future__ import annotations

import logging
import time
import traceback
from typing import TYPE_CHECKING

from litellm_evenkeel.support.log_throttle import LogThrottle

if TYPE_CHECKING:
    from collections.abc import Callable

# At most one error is logged per interval, so that an error in every request does not flood the log.
LOG_INTERVAL_SECONDS = 30.0
MAX_FRAMES = 3


class ErrorReporter:
    """Counter and logger of the errors of one part of the plugin."""

    def __init__(self, part: str, count: Callable[[str], None] = lambda _: None) -> None:
        self._log, self._count = logging.getLogger(f"litellm_evenkeel.{part}"), count
        self.counts: dict[str, int] = {}
        self._throttle = LogThrottle(LOG_INTERVAL_SECONDS)

    def report(self, operation: str, error: Exception) -> None:
        """Count and log an error of `operation`.

        The error's text may contain what a client or a provider wrote, so only its class and its location are logged.
        """
        self.counts[operation] = self.counts.get(operation, 0) + 1
        self._count(operation)
        if not self._throttle.allows(time.monotonic()):
            return
        frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
        locations = ", ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
        self._log.error(
            "evenkeel: %s failed (%s at %s); LiteLLM goes on without it. %d times so far. Please report it.",
            operation,
            type(error).__name__,
            locations,
            self.counts[operation],
        )
