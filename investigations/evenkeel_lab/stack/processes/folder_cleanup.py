"""Removes a stack's folder when the stack is gone, however it went.

A script of its own, standard library only. Its standard input is a pipe that only the parent holds: when it
closes, the janitor waits for every guardian to let go of the folder, then removes it.

    janitor.py FOLDER
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys


def main() -> int:
    """Wait for the end of the parent, then of the guardians, then clean up."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    folder = sys.argv[1]
    while os.read(0, 64):
        pass
    try:
        alive = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return 0
    fcntl.flock(alive, fcntl.LOCK_EX)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
