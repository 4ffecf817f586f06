from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from evenkeel_mock.calibrate import Ladder, Rung, verdict, working
from evenkeel_mock.config import parse

GOOD = Rung(offered=1000, answered=1.0, cpu=0.4, p50_ms=0.1, p99_ms=2.0)


def test_a_rung_holds_if_nearly_all_is_answered_soon_by_a_mock_that_has_air_left() -> None:
    assert GOOD.holds
    for worse in ({"answered": 0.97}, {"cpu": 0.9}, {"p99_ms": 16.0}):
        assert not replace(GOOD, **worse).holds


def test_what_is_said_of_a_ladder() -> None:
    higher, late = replace(GOOD, offered=2000), replace(GOOD, offered=4000, p99_ms=90.0)
    said = [
        verdict(Ladder("requests", 30.0, rungs), "requests")
        for rungs in ((late,), (GOOD, higher), (GOOD, higher, late), (GOOD, replace(late, probe_late=True)))
    ]
    assert "No rate of requests held" in said[0]
    assert "not the bottleneck up to 2,000 requests a second" in said[1]
    assert "beyond 2,000 requests a second" in said[2]
    assert "not the bottleneck up to 1,000 requests a second" in said[3]


def test_what_is_measured_neither_waits_nor_refuses() -> None:
    settings = {
        "seed": 3,
        "latency": {"ttft_ms": 900, "gap_ms": "exponential(mean=50)", "length": 12, "servers": 2},
        "accounts": [{"name": "a", "rpm": 1}],
        "faults": [{"status": 500}],
    }
    config = parse(working(settings, 0.0), 0)
    plan = config.latency.plan(3, b"key")
    assert (plan.duration(12), plan.tokens) == (0.0, 12)
    assert (config.faults, config.latency.servers) == ((), 0)
    account = config.accounts.of("any")
    assert account is not None
    assert account.limits.is_unlimited


@pytest.mark.slow
@pytest.mark.thorough
def test_the_mock_itself_is_measured() -> None:
    command = [sys.executable, "-m", "evenkeel_mock", "--calibrate", "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)
    assert found["workers"] == 1
    for kind in ("requests", "chunks"):
        assert found[kind]["cpu_us"] > 0
        assert found[kind]["rungs"][0]["answered"] > 0.9


def test_json_without_calibration_is_refused() -> None:
    command = [sys.executable, "-m", "evenkeel_mock", "--json"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert refused.returncode == 2
    assert "--calibrate" in refused.stderr
