from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from evenkeel_load.analysis.criteria import read_criteria
from evenkeel_load.analysis.statistics import spread
from evenkeel_load.analysis.summary import Calls, Step, Summary
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.proxy import Usage

if TYPE_CHECKING:
    from pathlib import Path

LATENCY = spread(np.linspace(10, 109, 1000))
CHAT = Calls(1000, {"http_500": 20}, 0, 0.01, 0.0, 0.0, 109.0, LATENCY, LATENCY, None, None, None, None)
STEP = Step(
    step=0,
    arrivals="closed",
    users=20,
    expected=1000,
    seconds=10.0,
    offered=None,
    achieved=100.0,
    answered=100.0,
    succeeded=98.0,
    lag=None,
    late=0.0,
    behind_ms=0.0,
    calls={"chat": CHAT},
    limited=(),
)
FOUND = Summary("chat", "http://x", (STEP,))
USED = Usage(cpu=0.8, memory_mib=500, ended=False)


def judged(tmp_path: Path, text: str, usage: Usage | None = USED) -> dict[str, bool]:
    path = tmp_path / "criteria.toml"
    path.write_text(text)
    return {one.what: one.ok for one in read_criteria(path).judge(FOUND, usage)}


def test_each_criterion_is_judged(tmp_path: Path) -> None:
    text = """
        error_rate = 0.01
        [calls.chat]
        p50_ms = 60
        p95_ms = 100
        mean_ms = 60
        max_ms = 100
        above_1s = 0.02
        error_rate = 0.05
        [proxy]
        cpu = 0.9
        memory_mib = 400
    """
    assert judged(tmp_path, text) == {
        "error_rate": False,
        "chat p50_ms": True,
        "chat p95_ms": False,
        "chat mean_ms": True,
        "chat max_ms": False,
        "chat above_1s": True,
        "chat error_rate": True,
        "proxy cpu": True,
        "proxy memory_mib": False,
    }


def test_what_cannot_be_told_is_not_kept_to(tmp_path: Path) -> None:
    assert judged(tmp_path, "[calls.chat]\np99_9_ms = 1e9\n[calls.stream]\np50_ms = 1e9") == {
        "chat p99_9_ms": False,
        "stream p50_ms": False,
    }
    assert judged(tmp_path, "[proxy]\ncpu = 9", usage=None) == {"proxy cpu": False}


def test_all_calls_together(tmp_path: Path) -> None:
    assert judged(tmp_path, "[calls.all]\np50_ms = 60") == {"all p50_ms": True}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("error_rat = 1", "error_rate"),
        ("[calls.chat]\np95 = 1", "p95_ms"),
        ("[proxy]\nmemory = 1", "memory_mib"),
        ("error_rate = 'none'", "expected a number"),
        ("error_rate = -1", "expected a number"),
        ("calls = 3", "expected a table"),
        ("error_rate = ", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(LoadConfigError) as refused:
        judged(tmp_path, text)
    assert told in str(refused.value)
