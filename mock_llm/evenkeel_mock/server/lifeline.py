"""Processes that end when the one that started them does, however that ended."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
LIFELINE = "LIFELINE_OF_MOCK"
"""Names the process that a mock must not outlive."""


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Ask the system to end this process, by that signal, with the one that started it. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os._exit(1)
