"""The machine's cores, as subjects get them and as containers take them away."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.session.cores import CAN_PIN, cores, pin, shares, stolen, throttled

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
