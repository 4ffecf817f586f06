"""Processes end on request, at the end of their block, and when their parent is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.processes.process import Command, log_tail, run, running, until_ready

if TYPE_CHECKING:
    from pathlib import Path

GONE_SECONDS = 5.0
# A parent with a child of its own, both deaf to polite requests.
DEAF_FAMILY = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def python(code: str, log: Path, **options: object) -> Command:
    return Command("the example", [sys.executable, "-c", code], log=log, **options)  # type: ignore[arg-type]


async def said(log: Path) -> str:
    while not log.exists() or not log.read_text().endswith("\n"):
        await asyncio.sleep(0.02)
    return log.read_text()


def gone(*pids: int) -> bool:
    def running(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    deadline = time.monotonic() + GONE_SECONDS
    while any(running(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


async def test_run_returns_what_was_printed(tmp_path: Path) -> None:
    assert await run(python("print('ahoy')", tmp_path / "log")) == "ahoy\n"


async def test_run_raises_with_the_end_of_the_log(tmp_path: Path) -> None:
    code = "import sys; [print(i) for i in range(100)]; sys.exit(7)"
    with pytest.raises(ProcessFailed, match="exit code 7") as error:
        await run(python(code, tmp_path / "log"))
    assert error.value.details.splitlines()[-1] == "99"
    assert len(error.value.details.splitlines()) == 15
    assert str(tmp_path / "log") in error.value.hint


async def test_a_program_that_does_not_exist_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match="/no/such/program"):
        await run(Command("it", ["/no/such/program"], log=tmp_path / "log"))


async def test_leaving_kills_a_process_and_children_that_ignore_signals(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(python(DEAF_FAMILY, log, grace=0.2)) as child:
        grandchild = int(await said(log))
        assert psutil.pid_exists(child.pid)
    assert gone(child.pid, grandchild)


async def test_orphans_of_a_command_that_ended_are_ended_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    await run(python(code, log))
    assert gone(int(log.read_text()))


async def test_the_stop_signal_comes_first(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(print('bye')))\n"
        "print('up', flush=True)\ntime.sleep(600)"
    )
    async with running(python(code, log, stop_signal=signal.SIGINT)):
        await said(log)
    assert log.read_text() == "up\nbye\n"


@pytest.mark.parametrize("moment", [0.0, 0.001, 0.003, 0.01, 0.03, 0.1])
async def test_an_interruption_during_the_start_leaves_no_process(tmp_path: Path, moment: float) -> None:
    mark = f"evenkeel-test-{moment}-{time.time_ns()}"

    async def start() -> None:
        command = python("import time; time.sleep(600)", tmp_path / "log", env=os.environ | {"MARK": mark})
        async with running(command):
            await asyncio.sleep(600)

    starting = asyncio.create_task(start())
    await asyncio.sleep(moment)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    left = [process for process in psutil.process_iter(["environ"]) if mark in str(process.info["environ"])]
    assert left == []


async def test_secrets_in_the_environment_are_in_no_argument(tmp_path: Path) -> None:
    command = python("import time; time.sleep(600)", tmp_path / "log", env=os.environ | {"SECRET": "hush-hush"})
    async with running(command) as child:
        family = [psutil.Process(child.pid), psutil.Process(child.pid).parent()]
        assert not any("hush-hush" in part for process in family if process for part in process.cmdline())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_all_processes_end_when_the_parent_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "log"
    script = f"""
import asyncio, sys
from pathlib import Path
from evenkeel_lab.stack.processes.process import Command, running
async def main():
    command = Command("it", [sys.executable, "-c", {DEAF_FAMILY!r}], log=Path({str(log)!r}), grace=0.2)
    async with running(command) as child:
        print(child.pid, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        grandchild = int(asyncio.run(said(log)))
        parent.send_signal(number)
        parent.wait(timeout=GONE_SECONDS)
    assert gone(child, grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end a process with its parent")
async def test_the_command_ends_when_its_guardian_is_killed_and_leaving_ends_its_children(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with running(python(DEAF_FAMILY, log)) as child:
        grandchild = int(await said(log))
        guardian = psutil.Process(child.pid).parent()
        assert guardian is not None
        guardian.kill()
        assert await asyncio.to_thread(gone, child.pid)
    assert gone(grandchild)


async def test_until_ready_distinguishes_an_ended_process_from_a_silent_process(tmp_path: Path) -> None:
    async def never() -> bool:
        return False

    async with running(python("import sys; sys.exit('no room')", tmp_path / "dead")) as child:
        with pytest.raises(ProcessFailed, match="before it answered") as error:
            await until_ready(child, never, 10)
        assert "no room" in error.value.details
    async with running(python("import time; time.sleep(600)", tmp_path / "silent")) as child:
        with pytest.raises(ProcessFailed, match="did not answer within"):
            await until_ready(child, never, 0.1)


def test_the_tail_of_a_missing_log_is_empty(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "none") == ""
