"""A process that ends when the one that started it does, however that ended."""

from __future__ import annotations

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
STARTED_BY_US = "LIFELINE_OF_LOAD"
"""Set for processes that must not outlive whoever started them."""


def end_with_parent() -> None:
    """Ask the system to end this process with its parent. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
