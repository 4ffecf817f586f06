"""Starting, watching and stopping one process, through its guardian."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.errors import DISK_FULL_HINT, DiskFull, ProcessFailed, RigFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

GUARDIAN = Path(__file__).with_name("guardian.py")
POLL_SECONDS = 0.05
GUARDIAN_POLL_SECONDS = 0.01
LOG_LINES = 15
NO_ROOM = r"No space left on device|ENOSPC|Disk quota exceeded"


@dataclass(frozen=True)
class Command:
    """A command to run: program, user, log, and how to stop it."""

    name: str
    argv: Sequence[str | Path]
    log: Path
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: Path | None = None
    uid: int | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    """Signal to the process if its guardian is killed."""
    grace: float = 5.0
    folder: Path | None = None

    def spec(self) -> str:
        """Return the argument of the guardian. It leaves out the environment: other users can read arguments."""
        return json.dumps(
            {
                "argv": [str(part) for part in self.argv],
                "log": str(self.log),
                "cwd": str(self.cwd) if self.cwd else None,
                "uid": self.uid,
                "stop_signal": int(self.stop_signal),
                "death_signal": int(self.death_signal),
                "grace": self.grace,
                "folder": str(self.folder) if self.folder else None,
            }
        )


class Child:
    """A running process."""

    def __init__(self, command: Command, guardian: subprocess.Popen[bytes], pid: int) -> None:
        self.command = command
        self.pid = pid
        self.started = time.time()
        self._guardian = guardian

    @property
    def exit_code(self) -> int | None:
        """Exit code, or `None` while the process runs."""
        return self._guardian.poll()

    async def wait(self) -> int:
        """Wait until the process ends, and return its exit code."""
        return await ended(self._guardian)

    def failed(self, reason: str) -> RigFailure:
        """Return an error with `reason` and the end of the log."""
        what, details = f"{self.command.name} {reason}.", log_tail(self.command.log)
        if re.search(NO_ROOM, details):
            return DiskFull(what, hint=DISK_FULL_HINT, details=details)
        return ProcessFailed(what, hint=f"The whole log: {self.command.log}", details=details)


def log_tail(log: Path, lines: int = LOG_LINES) -> str:
    """Return the last lines of a log, or an empty text if it is missing."""
    try:
        text = log.read_bytes()[-20_000:].decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])


@contextlib.asynccontextmanager
async def running(command: Command) -> AsyncIterator[Child]:
    """Run a process during the block. Afterwards it has ended or, if the exit is cancelled, ends soon."""
    # asyncio would kill its subprocesses instead of closing their pipes when a loop is closed early.
    guardian = subprocess.Popen(  # noqa: ASYNC220 - it is started before anything else could run
        [sys.executable, "-I", "-S", GUARDIAN, command.spec()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env=dict(command.env),
        start_new_session=True,
    )
    assert guardian.stdin is not None
    assert guardian.stdout is not None
    pid = 0
    try:
        word, _, rest = (await first_line(guardian)).partition(" ")
        if word != "pid":
            raise ProcessFailed(
                f"{command.name} cannot be started: {rest or 'its guardian ended'}.",
                hint="Check that the program exists and may be executed.",
            )
        pid = int(rest)
        yield Child(command, guardian, pid)
    finally:
        with contextlib.suppress(BrokenPipeError):
            guardian.stdin.write(b".")  # Requests an ordinary stop.
        guardian.stdin.close()
        guardian.stdout.close()
        if await ended(guardian) < 0 and pid:
            # The guardian was killed, and its command with it, but children of the command may still run.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


async def first_line(guardian: subprocess.Popen[bytes]) -> str:
    """Return the first line of a guardian's output; empty if it ended."""
    assert guardian.stdout is not None
    os.set_blocking(guardian.stdout.fileno(), False)
    output = b""
    while not output.endswith(b"\n"):
        more = guardian.stdout.read()
        if more == b"":
            break
        output += more or b""
        await asyncio.sleep(GUARDIAN_POLL_SECONDS)
    return output.decode(errors="replace").partition("\n")[0]


async def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait until a process has ended; return its exit code."""
    while (code := process.poll()) is None:
        await asyncio.sleep(GUARDIAN_POLL_SECONDS)
    return code


async def run(command: Command) -> str:
    """Run a process to its end and return its output. Raise an error with the end of the log if it fails."""
    async with running(command) as child:
        code = await child.wait()
        if code != 0:
            raise child.failed(f"ended with exit code {code}")
    return command.log.read_text(errors="replace")


async def until_ready(child: Child, probe: Callable[[], Awaitable[bool]], seconds: float) -> float:
    """Wait until `probe` succeeds; return the seconds it took. Raise if the process ends or `seconds` are over."""
    start = time.monotonic()
    while True:
        if child.exit_code is not None:
            raise child.failed(f"ended with exit code {child.exit_code} before it answered")
        if await probe():
            return time.monotonic() - start
        if time.monotonic() - start > seconds:
            raise child.failed(f"did not answer within {seconds:.0f} s")
        await asyncio.sleep(POLL_SECONDS)
