"""Locust itself, as its users run it: alone, in several processes, with a master and workers, with its web page."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pyarrow.parquet as pq
import pytest

from evenkeel_load.analysis.summary import summarise
from evenkeel_load.records.merge import merge

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIOS = Path(__file__).parents[1] / "scenarios"
OPEN = ["--arrivals", "poisson", "--rate", "100", "--duration", "2", "--seed", "5"]


def sending(folder: Path) -> list[Path]:
    """Return what the processes that have begun to send tell of themselves."""
    return [path for path in folder.glob("health-*") if len(path.read_text().splitlines()) > 1]


@contextlib.contextmanager
def locust(folder: Path, scenario: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "locust", "-f", str(SCENARIOS / f"{scenario}.py"), "--records", str(folder)]
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "--api-key", "sk-known", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(merge(folder)).to_pylist()
    return sorted(found, key=lambda record: record["number"])


@pytest.mark.parametrize("scenario", [path.stem for path in sorted(SCENARIOS.glob("*.py"))])
def test_every_scenario_runs_with_plain_locust(scenario: str, provider: str, tmp_path: Path) -> None:
    arguments = ["--host", provider, "--headless", "-u", "5", "-r", "5", "--arrivals", "closed", "--requests", "40"]
    with locust(tmp_path, scenario, *arguments) as process:
        assert process.wait(30) == 0
    found = records(tmp_path)
    assert [record["number"] for record in found] == list(range(40))
    assert {record["status"] for record in found} == {200}
    for record in found:
        assert record["intended_ns"] <= record["sent_ns"] <= record["first_byte_ns"] <= record["end_ns"]
        assert record["end_ns"] - record["sent_ns"] >= 20_000_000
        assert record["sent_ns"] <= record["mock_received_ns"] <= record["mock_sent_ns"] <= record["end_ns"]
        if record["call"] == "stream":
            times = record["chunk_ns"]
            # The role, eight words, the reason why it ends, the usage.
            assert len(times) == 11
            assert times == sorted(times)
            assert record["first_token_ns"] in times


def processes(count: int, port: int) -> list[str]:
    # Not the usual port, on which other loads of this machine may meet.
    return ["--headless", "--processes", str(count), "--master-port", str(port), "--master-bind-port", str(port)]


def test_processes_share_one_schedule(provider: str, free_port: int, tmp_path: Path) -> None:
    with locust(tmp_path, "chat", "--host", provider, *processes(2, free_port), "-u", "2", *OPEN) as process:
        assert process.wait(40) == 0
    assert len(list(tmp_path.glob("part-*"))) == 2
    check_schedule(tmp_path)


def check_schedule(folder: Path) -> None:
    found = records(folder)
    (step,) = summarise(folder).steps
    assert step.expected == len(found)
    assert [record["number"] for record in found] == list(range(len(found)))
    # One start for all: when requests were due is one schedule, over all processes.
    intended = [record["intended_ns"] for record in found]
    assert intended == sorted(intended)
    # Whether a busy machine could keep to the schedule is not asserted, only that no request and no process is missing.
    speed = ("sent late", "could be sent", "was busy")
    assert [why for why in step.limited if not any(reason in why for reason in speed)] == []


@pytest.mark.slow
@pytest.mark.thorough
def test_a_master_and_two_workers_share_one_schedule(provider: str, free_port: int, tmp_path: Path) -> None:
    port = str(free_port)
    with contextlib.ExitStack() as stack:
        arguments = ["--host", provider, "--headless", "--master", "--master-bind-port", port, "--expect-workers", "2"]
        master = stack.enter_context(locust(tmp_path, "chat", *arguments, "-u", "2", *OPEN))
        # As on other machines: each has a folder of its own, and takes its options from the master.
        for name in ("a", "b"):
            stack.enter_context(locust(tmp_path / name, "chat", "--worker", "--master-port", port))
        assert master.wait(40) == 0
    for name in ("a", "b"):
        parts = list((tmp_path / name).glob("part-*"))
        assert len(parts) == 1
        for path in (*parts, *(tmp_path / name).glob("health-*")):
            path.rename(tmp_path / path.name)
    check_schedule(tmp_path)


@pytest.mark.slow
def test_the_web_page_starts_a_load_and_then_another(provider: str, free_port: int, tmp_path: Path) -> None:
    port = str(free_port)
    with locust(tmp_path, "chat", "--host", provider, "--web-host", "127.0.0.1", "--web-port", port) as process:
        page = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(page, trust_env=False).is_success:
                    break
            time.sleep(0.1)
        for total in (30, 60):
            form = {"user_count": "3", "spawn_rate": "3", "host": provider, "requests": "30"}
            assert httpx.post(f"{page}/swarm", data=form, trust_env=False).json()["success"]
            # The page tells what it knew two seconds ago.
            time.sleep(2.5)
            while time.monotonic() < deadline + 20:
                if httpx.get(f"{page}/stats/requests", trust_env=False).json()["state"] == "stopped":
                    break
                time.sleep(0.1)
            assert len(records(tmp_path)) == total


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_at_most_its_last_second(provider: str, free_port: int, tmp_path: Path) -> None:
    arguments = ["--host", provider, *processes(2, free_port), "-u", "2", "--arrivals", "constant"]
    with locust(tmp_path, "chat", *arguments, "--rate", "200", "--duration", "6") as process:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and len(sending(tmp_path)) < 2:
            time.sleep(0.05)
        time.sleep(2)
        killed = time.time_ns()
        victim = psutil.Process(process.pid).children()[0]
        victim.send_signal(signal.SIGKILL)
        process.wait(60)
    summary = summarise(merge(tmp_path).parent)
    assert any("left no record" in why for why in summary.limited)
    found = records(tmp_path)
    shares = [[record for record in found if record["number"] % 2 == parity] for parity in (0, 1)]
    lost = min(shares, key=len)
    assert len(max(shares, key=len)) == 600
    assert killed - lost[-1]["end_ns"] < 1_500_000_000


def test_what_locust_is_told_in_vain_is_an_error_of_its_own(tmp_path: Path) -> None:
    with locust(tmp_path, "chat", "--host", "http://127.0.0.1:1", "--headless", "--rate", "fast") as process:
        assert process.wait(20) == 2
    assert "--rate" in (tmp_path / "log").read_text()


def test_a_plan_that_cannot_be_ends_the_run_with_a_reason(provider: str, tmp_path: Path) -> None:
    arguments = ["--host", provider, "--headless", "-u", "1", "--arrivals", "poisson"]
    with locust(tmp_path, "chat", *arguments) as process:
        process.wait(30)
    assert "need --rate" in (tmp_path / "failure.json").read_text()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_stop_keeps_what_was_recorded(provider: str, tmp_path: Path) -> None:
    with locust(
        tmp_path, "chat", "--host", provider, "--headless", "-u", "4", "-r", "4", "--duration", "60"
    ) as process:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not sending(tmp_path):
            time.sleep(0.05)
        time.sleep(1)
        os.kill(process.pid, signal.SIGINT)
        process.wait(20)
    assert len(records(tmp_path)) > 20
