"""Run Locust so that it ends with the process that started it, however that process ended. Only Linux can do this.

`python -m evenkeel_load.locust_side.lifeline PARENT ...` asks the system for it first, before it imports or forks.
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
