"""Removes a stack's folder when the stack has ended, even if it was killed.

A script of its own, standard library only. Its standard input is a pipe that only the parent holds: when it
closes, this script waits until every guardian has released the folder, then removes it.

    folder_cleanup.py FOLDER
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys


def main() -> int:
    """Wait for the end of the parent and of the guardians, then remove the folder."""
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
