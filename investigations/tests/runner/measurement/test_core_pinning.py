"""The machine's cores, as subjects get them and as containers take them away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.runner.measurement.core_pinning import (
    CAN_PIN,
    TURN_SECONDS,
    cores,
    pin,
    shares,
    stolen,
    take_turns,
    throttled,
    turn,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(not CAN_PIN, reason="this system pins nothing")
def test_a_whole_tree_of_processes_is_pinned_and_let_go_again() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        while not (children := psutil.Process(process.pid).children()):
            pass
        family = [psutil.Process(process.pid), *children]
        for chosen, there in ((cores()[-1:], cores()[-1:]), ((), cores())):
            pin(process.pid, chosen)
            assert [tuple(one.cpu_affinity()) for one in family] == [there, there]
        process.communicate(b"\n")


@pytest.mark.skipif(not CAN_PIN, reason="this system pins nothing")
def test_threads_that_run_already_are_pinned_too() -> None:
    code = "import threading; threading.Thread(target=input).start(); print(flush=True); threading.Event().wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pin(process.pid, cores()[-1:])
        threads = [one.id for one in psutil.Process(process.pid).threads()]
        assert len(threads) > 1
        assert {tuple(os.sched_getaffinity(thread)) for thread in threads} == {cores()[-1:]}
        process.kill()


@pytest.mark.skipif(not CAN_PIN, reason="this system pins nothing")
def test_processes_take_turns_on_cores_from_a_moment_on() -> None:
    places, every = [cores()[:1], cores()[-1:]], 0.4

    async def seen(pids: list[int]) -> list[list[tuple[int, ...]]]:
        begins, found = time.time() + 0.3, []
        taking = asyncio.create_task(take_turns(pids, places, int(begins * 1e9), every))
        for number in range(3):
            await asyncio.sleep(begins + every * (number + 0.5) - time.time())
            found.append([tuple(os.sched_getaffinity(pid)) for pid in pids])
        taking.cancel()
        return found

    with contextlib.ExitStack() as running:
        waiting = [sys.executable, "-c", "input()"]
        two = [running.enter_context(subprocess.Popen(waiting, stdin=subprocess.PIPE)) for _ in range(2)]
        running.callback(lambda: [one.kill() for one in two])
        assert asyncio.run(seen([one.pid for one in two])) == [places, places[::-1], places]


@given(st.floats(0.5, 1e5))
def test_a_run_has_as_many_turns_on_each_core(seconds: float) -> None:
    turns = seconds / turn(seconds)
    assert turns == pytest.approx(round(turns))
    assert round(turns) % 2 == 0
    assert turn(seconds) <= 2 * TURN_SECONDS


@given(st.integers(1, 64))
def test_everybody_has_as_many_cores_and_nobody_anothers(count: int) -> None:
    given_out = shares(count)
    assert len({len(own) for own in given_out}) == 1
    dealt = [core for own in given_out for core in own]
    assert len(set(dealt)) == len(dealt)
    assert set(dealt) <= set(cores())


@pytest.mark.parametrize(
    ("own", "files", "told"),
    [
        ("0::/\n", {"cpu.stat": "usage_usec 9\nnr_throttled 3\nthrottled_usec 2500000\n"}, 2.5),
        # The quota is that of the group around ours.
        ("0::/a/b\n", {"a/cpu.stat": "throttled_usec 1000000\n", "a/b/cpu.stat": "throttled_usec 0\n"}, 1.0),
        ("3:cpuset:/x\n2:cpu,cpuacct:/y\n", {"cpu,cpuacct/y/cpu.stat": "throttled_time 1500000000\n"}, 1.5),
        ("3:cpuset:/x\n", {"cpuset/x/cpu.stat": "throttled_time 1500000000\n"}, 0.0),
        ("0::/\n", {}, 0.0),
        (None, {}, 0.0),
    ],
)
def test_what_a_quota_takes_away_is_read(tmp_path: Path, own: str | None, files: dict[str, str], told: float) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    if own is not None:
        (tmp_path / "own").write_text(own)
    assert throttled(tmp_path, tmp_path / "own") == told


def test_what_is_taken_away_only_grows() -> None:
    before = stolen()
    assert 0 <= before <= stolen()
