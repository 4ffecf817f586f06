"""Import LiteLLM once, and run each job of `replay.py` in a fork: `python replay_server.py SOCKET`.

The import takes half of the time of a replay. A client connects to SOCKET and sends the path of a job in one line; the
connection then carries the commands and the replies. Like `replay.py`, this program imports nothing of the lab.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Final

# The folder of this program is the first of sys.path.
import replay  # type: ignore[import-not-found]

ERRORS: Final = "errors"
"""The name of the file for the fork's stderr, in the folder of its job."""


def serve(address: str) -> None:
    """Accept jobs until this process is killed, or its stdin ends because its parent was."""
    importlib.import_module("litellm")
    # The system removes forks that have ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if listener not in ready:
                return
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                run_fork(connection)
            connection.close()


def run_fork(connection: socket.socket) -> None:
    """Run the job whose path is the first line from `connection`, then its commands. Never return."""
    os.dup2(connection.fileno(), 0)
    os.dup2(connection.fileno(), 1)
    job = Path(sys.stdin.readline().strip())
    os.chdir(job.parent)
    # The server has looked up TMPDIR already, which a job may change.
    tempfile.tempdir = None
    os.dup2(os.open(job.with_name(ERRORS), os.O_CREAT | os.O_WRONLY), 2)
    code = 1
    try:
        asyncio.run(replay.main(job))
        code = 0
    except BaseException:  # noqa: BLE001 - printed as at the end of any process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
