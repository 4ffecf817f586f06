"""Samplers on real processes: py-spy from the outside, the probe from the inside, and which of them is used when."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
import pytest_asyncio

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.profiling import in_process_probe, pyspy
from evenkeel_lab.profiling.frames import UNSEEN
from evenkeel_lab.profiling.hot_functions import NOTHING
from evenkeel_lab.profiling.sampler import Samples, Subject, cpu, pythons, record
from evenkeel_lab.profiling.stacks import functions
from evenkeel_lab.runner.measurement.probes import probed_processes
from evenkeel_lab.stack.litellm.proxy import PROBE
from evenkeel_lab.stack.probes.stacks_of_proxy import COLLECTION
from evenkeel_lab.stack.processes.process import Command, running, until_ready

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.profiling.stacks import Spent


SECONDS = 1.2
# A server as a proxy is one: uvicorn, with the probe on its path, three quarters of its time in one of two functions.
BUSY = """
import asyncio, gc, threading, time
import uvicorn

def dear(until):
    while time.thread_time() < until:
        sum(range(300))

def cheap(until):
    while time.thread_time() < until:
        sum(range(300))

async def burn():
    while True:
        gc.collect()
        now = time.thread_time()
        dear(now + 0.015)
        cheap(now + 0.02)
        await asyncio.sleep(0.001)

async def application(scope, receive, send):
    message = await receive()
    tasks.append(asyncio.create_task(burn()))
    await send({"type": "lifespan.startup.complete"})
    await receive()

tasks = []
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
uvicorn.run(application, port=0, log_level="critical")
"""


@pytest_asyncio.fixture(scope="module")
async def subject(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Subject]:
    place = tmp_path_factory.mktemp("busy") / "lag-arm"
    env = os.environ | {"PYTHONPATH": str(PROBE), "LAG_OF_PROXY": str(place)}
    program = place.with_name("busy.py")
    program.write_text(BUSY)
    command = Command("busy", [sys.executable, program], log=place.with_name("log"), env=env)

    async def ready() -> bool:
        return bool(probed_processes(place))

    async with running(command) as child:
        await until_ready(child, ready, 60)
        yield Subject(child.pid, place)


async def work(subject: Subject) -> str:
    """As many samples on a busy machine as on an idle one."""
    process = psutil.Process(subject.pid)
    until = cpu(process) + SECONDS
    while cpu(process) < until:
        await asyncio.sleep(0.05)
    return "done"


def collected(told: dict[str, Spent]) -> int:
    """A collection that a function has asked for is not that function's own."""
    assert told.get("busy.py:burn", NOTHING).own < told[COLLECTION[0]].own
    return told[COLLECTION[0]].own


def costs(found: Samples) -> dict[str, Spent]:
    told = functions(found.stacks)
    assert not [name for name in told if str(Path.home()) in name or sys.prefix in name or name.startswith("/")]
    return told


def spies_on(subject: Subject) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            if "--pid" in line and str(subject.pid) in line:
                found.append(process.pid)
    return found


@pytest.fixture
def permitted(subject: Subject) -> None:
    """Skip what needs py-spy where it may not look at other processes: in some containers, on macOS."""
    told = subprocess.run([pyspy.find(), "dump", "--pid", str(subject.pid)], capture_output=True, check=False)
    if told.returncode:
        pytest.skip(told.stderr.decode().partition("\n")[0])


@pytest.mark.usefixtures("permitted")
async def test_pyspy_sees_where_the_cpu_goes_and_is_gone_afterwards(subject: Subject, tmp_path: Path) -> None:
    done, found = await record(subject, tmp_path, partial(work, subject), (pyspy.record, in_process_probe.record))
    told = costs(found)
    assert (done, found.why, found.sampler.split()[0]) == ("done", "", "py-spy")
    assert told["busy.py:dear"].cumulated > 1.2 * told["busy.py:cheap"].cumulated
    assert told["busy.py:burn"].cumulated + collected(told) > 0.7 * sum(found.stacks.values())
    assert found.count > 10
    assert spies_on(subject) == []


async def test_without_permission_the_probe_in_the_process_samples(subject: Subject, tmp_path: Path) -> None:
    refused = tmp_path / "py-spy"
    refused.write_text("#!/bin/sh\necho 'Permission Denied: Try running again with elevated permissions' >&2\nexit 1\n")
    refused.chmod(0o755)

    forbidden = partial(pyspy.record, program=refused)
    done, found = await record(subject, tmp_path, partial(work, subject), (forbidden, in_process_probe.record))
    told = costs(found)
    assert (done, found.why) == ("done", "py-spy has no permission to read other processes (ptrace).")
    assert found.sampler == in_process_probe.NAME
    assert told["busy.py:dear"].cumulated > 1.2 * told["busy.py:cheap"].cumulated
    assert told["busy.py:burn"].cumulated + collected(told) > 0.7 * sum(found.stacks.values())
    # The other thread sleeps: next to nothing is spent where the probe does not look.
    assert told.get(UNSEEN, told["busy.py:burn"]).own < 0.3 * sum(found.stacks.values())


@pytest.mark.usefixtures("permitted")
async def test_a_profile_that_is_stopped_leaves_nobody_behind(subject: Subject, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.sleep(600)

    task = asyncio.create_task(pyspy.record(subject, tmp_path, endless))
    await begun.wait()
    assert spies_on(subject)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert spies_on(subject) == []
    # Nor is it left halted.
    assert psutil.Process(subject.pid).status() not in {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}


async def test_where_nothing_can_sample_the_reasons_are_told(subject: Subject, tmp_path: Path) -> None:
    nowhere = replace(subject, path=tmp_path / "nowhere")
    with pytest.raises(RigFailure, match="has a probe"):
        await record(nowhere, tmp_path, partial(work, subject), (in_process_probe.record,))


def test_a_process_is_python_by_its_program(subject: Subject) -> None:
    assert [process.pid for process in pythons(subject.pid)] == [subject.pid]
