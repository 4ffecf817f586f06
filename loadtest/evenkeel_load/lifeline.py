"""Locust that ends when the one that started it does, however that ended.

`python -m evenkeel_load.lifeline PARENT ...` sees to that before anything else: whatever is imported or forked later,
the system already knows whose death ends it. Only Linux can.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Ask the system to end this process with its parent, unless that has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            # In a forked process nobody would see an exception.
            os._exit(1)


def main() -> None:
    """Be Locust, on a lifeline."""
    sys.argv[0] = "locust"
    end_with(int(sys.argv.pop(1)))
    own = os.getpid()

    def after_fork() -> None:
        nonlocal own
        end_with(own)
        own = os.getpid()

    # A forked process has no lifeline of its own: Locust forks its workers.
    os.register_at_fork(after_in_child=after_fork)
    # Locust must patch the standard library before anything else is imported.
    import locust.main  # noqa: PLC0415

    locust.main.main()


if __name__ == "__main__":
    main()
