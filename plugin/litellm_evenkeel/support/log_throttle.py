"""A throttle for log messages, so that a failure at every request does not flood the log."""

from __future__ import annotations

import math


class LogThrottle:
    """Throttle that allows one message per interval."""

    __slots__ = ("_interval", "_quiet_until")

    def __init__(self, interval: float) -> None:
        self._interval, self._quiet_until = interval, -math.inf

    def allows(self, now: float) -> bool:
        """Return whether a message may be logged now, and if so, start the next interval."""
        if now < self._quiet_until:
            return False
        self._quiet_until = now + self._interval
        return True
