"""Run Locust so that it ends with its parent process, even if that is killed. Only Linux can do this.

`python -m evenkeel_load.locust_side.lifeline PARENT ...` sets it up before it imports or forks anything.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Make the system end this process with its parent. Exit if the parent has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            # An exception in a forked process would be invisible.
            os._exit(1)


def main() -> None:
    """Run Locust."""
    sys.argv[0] = "locust"
    end_with(int(sys.argv.pop(1)))
    own = os.getpid()

    def after_fork() -> None:
        nonlocal own
        end_with(own)
        own = os.getpid()

    # The setting is not inherited, and Locust forks its workers.
    os.register_at_fork(after_in_child=after_fork)
    # Locust must patch the standard library before anything else is imported.
    import locust.main  # noqa: PLC0415

    locust.main.main()


if __name__ == "__main__":
    main()
