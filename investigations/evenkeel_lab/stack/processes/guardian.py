"""Runs one command and makes sure that it does not outlive whoever asked for it.

A script of its own, standard library only, one process for each part. It holds the read end of a pipe whose
write end only the parent has: when the pipe closes, because the parent closed it or because the parent is gone
for whatever reason, SIGKILL included, the command and its whole process group are ended. An ordinary stop and a
murdered parent so take the same path; only that the parent first writes a byte if it means an ordinary one, in which
case the command has all of its grace to leave.

    guardian.py '{"argv": [...], "log": PATH, ...}'     (see `child.Command`)

It prints `pid N` once the command runs and `exit N` when it has ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
STEP = 0.02
KILL_SECONDS = 3.0
ORPHAN_SECONDS = 2.0


def say(line: str) -> None:
    """Tell the parent, if it still listens."""
    with contextlib.suppress(OSError):
        os.write(1, f"{line}\n".encode())


def die_with(guardian: int, death_signal: int) -> None:
    """The last resort, on Linux: a guardian that is itself killed takes its command along."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != guardian:  # it was killed before it could have been noticed
            os._exit(1)


def start(spec: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, so that its group is exactly what it spawned."""
    owner: dict[str, Any] = {}
    if spec.get("uid") is not None:
        owner = {"user": spec["uid"], "group": spec["uid"], "extra_groups": []}
    with Path(spec["log"]).open("ab", buffering=0) as log:
        return subprocess.Popen(
            spec["argv"],
            cwd=spec["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=functools.partial(die_with, os.getpid(), spec["death_signal"]),  # noqa: PLW1509 - no threads
            **owner,
        )


def group_lives(group: int) -> bool:
    """Whether any process of the group is left."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end(child: subprocess.Popen[bytes], stop_signal: int, grace: float) -> None:
    """Ask the command to stop, give it its grace, then kill all that is left of its group."""
    if child.poll() is None:
        child.send_signal(stop_signal)
    deadline = time.monotonic() + grace
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(STEP)
    # Bounded, because zombies that nobody reaps (a container without an init) count as a living group.
    deadline = time.monotonic() + KILL_SECONDS
    while group_lives(child.pid) and time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.poll()
        time.sleep(STEP)


def watch(child: subprocess.Popen[bytes], wakeup: int) -> bool:
    """Block until the command has ended, or the parent has gone or asked to stop; say whether it asked."""
    asked = False
    while child.poll() is None:
        ready, _, _ = select.select([0, wakeup], [], [])
        if wakeup in ready and signal.SIGTERM in os.read(wakeup, 64):
            return asked
        if 0 in ready:
            if not os.read(0, 64):
                return asked
            asked = True
    return asked


def main() -> int:
    """Run the command of argv[1] to its end, or to the parent's."""
    spec = json.loads(sys.argv[1])
    wakeup, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)
    signal.set_wakeup_fd(wakeup_write)
    # Handlers rather than SIG_IGN, which the command would inherit.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    if spec["folder"]:
        # The janitor waits for this lock before it removes the folder.
        fcntl.flock(os.open(spec["folder"], os.O_RDONLY), fcntl.LOCK_SH)
    try:
        child = start(spec)
    except OSError as error:
        say(f"failed {error.strerror or error}: {spec['argv'][0]}")
        return 127
    say(f"pid {child.pid}")
    asked = watch(child, wakeup)
    end(child, spec["stop_signal"], spec["grace"] if asked else min(spec["grace"], ORPHAN_SECONDS))
    code = child.wait()
    say(f"exit {code}")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
