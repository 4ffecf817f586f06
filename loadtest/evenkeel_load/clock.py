"""Unix time that never jumps: the system's at the start of the process, and a steady clock from then on."""

from __future__ import annotations

import time

NS = 1_000_000_000
"""In a second."""
_OFFSET = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """Return the time."""
    return _OFFSET + time.perf_counter_ns()
