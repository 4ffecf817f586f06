"""`evenkeel load` as its users run it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from evenkeel_load.command import load as command_load, summary as command_summary
from evenkeel_load.records.resource_samples import read_samples

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

OPEN = ("--arrivals", "constant", "--rate", "100")
RUN = "from evenkeel_load.command import load, summary; import sys; (load if sys.argv.pop(1) == 'load' else summary)()"
ENVIRONMENT = os.environ | {"EVENKEEL_LOAD_API_KEY": "sk-known", "COLUMNS": "120"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", RUN, *arguments]


def evenkeel(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)


def load(url: str, folder: Path, *arguments: str, scenario: str = "chat") -> subprocess.CompletedProcess[str]:
    return evenkeel("load", scenario, "--host", url, "--records", str(folder), *arguments)


def refused(url: str, folder: Path, *arguments: str) -> Result:
    """Ask for a load that is refused before anything is sent, so that it needs no process of its own."""
    return CliRunner().invoke(command_load, ["chat", "--host", url, "--records", str(folder), *arguments])


def summary(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command_summary, [str(folder), *arguments])


def test_a_load_is_told_as_a_document_and_as_a_table(provider: str, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    done = load(provider, folder, "--users", "5,10", "--requests", "60", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], [step["users"] for step in found["steps"]]) == ("ok", [5, 10])
    for step in found["steps"]:
        assert step["calls"]["chat"]["requests"] == 60
        assert step["calls"]["chat"]["latency"]["quantiles"]["p50"] >= 20
        assert 0 < step["calls"]["chat"]["added"]["mean"] < 20
    assert json.loads((folder / "summary.json").read_text()) == found
    assert pq.read_table(folder / "records.parquet").num_rows == 120
    told = summary(folder)
    assert told.exit_code == 0
    assert "chat, 5 users: 60 requests in " in told.stdout
    assert "rig-limited" not in told.stdout
    again = refused(provider, folder)
    assert (again.exit_code, "already has a load" in again.stderr) == (2, True)


def test_criteria_decide(provider: str, tmp_path: Path) -> None:
    criteria = tmp_path / "criteria.toml"
    criteria.write_text("error_rate = 0.0\n[calls.chat]\np50_ms = 1\n[proxy]\nmemory_mib = 100000\n")
    arguments = ("--requests", "100", "--criteria", str(criteria), "--pid", str(os.getpid()))
    done = load(provider, tmp_path / "records", *arguments)
    assert done.returncode == 1
    assert "FAILED  chat p50_ms" in done.stdout
    assert "ok      error_rate 0 (limit 0)" in done.stdout
    assert "ok      proxy memory_mib" in done.stdout
    samples = read_samples(tmp_path / "records")
    assert {one.processes[0].pid for one in samples} == {os.getpid()}
    assert all(one.memory_mib > 0 for one in samples)
    assert 0.5 < sum(one.seconds for one in samples) < 60


@pytest.mark.parametrize(
    ("text", "told"),
    [("[calls.chta]\np50_ms = 1\n", "Did you mean chat?"), ("[proxy]\ncpu = 1\n", "Name it with --pid")],
)
def test_criteria_that_nothing_can_meet_are_refused_before_anything_is_sent(
    provider: str, tmp_path: Path, text: str, told: str
) -> None:
    criteria = tmp_path / "criteria.toml"
    criteria.write_text(text)
    done = refused(provider, tmp_path / "records", "--criteria", str(criteria))
    assert (done.exit_code, told in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "records").exists()


def test_errors_are_told_by_class_and_end_the_compact_ladder(provider: str, tmp_path: Path) -> None:
    done = load(provider, tmp_path / "records", "--api-key", "sk-limited", "--requests", "40", scenario="compact")
    assert done.returncode == 0
    assert "compact, 20 users" in done.stdout
    assert "compact, 50 users" not in done.stdout
    assert "http_429 10" in done.stdout


THERE = ("--host", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (THERE, 3, "Nothing answers at http://127.0.0.1:1"),
        (("--host", "nowhere"), 2, "is no valid address"),
        ((), 2, "Give --host"),
        ((*THERE, "--rate", "5"), 2, "no --rate"),
        ((*THERE, "--users", "0"), 2, "above zero"),
        ((*THERE, "--requests", "many"), 2, "--requests: 'many'"),
        ((*THERE, "--user-mode", "absent"), 2, "absent"),
        ((*THERE, "--cv", "2"), 2, "closed arrivals have no --cv"),
        ((*THERE, "--arrivals", "poisson", "--rate", "5", "--trace", "x"), 2, "poisson arrivals have no --trace"),
        ((*THERE, "--arrivals", "gamma", "--rate", "5", "--cv", "1e200"), 2, "--cv"),
        ((*THERE, "--arrivals", "poisson", "--rate", "5", "--requests", "99999999999"), 2, "too many for a schedule"),
        ((*THERE, "--arrivals", "constant", "--rate", "5", "--duration", "1e-9"), 3, "Nothing answers"),
        ((*THERE, "--master", "2", "--worker", "x"), 2, "either a --master or a --worker"),
        ((*THERE, "--master", "2", "--workers", "2"), 2, "does not send"),
        ((*THERE, "--master-port", "2000"), 2, "Only a --master"),
        ((*THERE, "--worker", "x:99999"), 2, "no HOST:PORT"),
        ((*THERE, "--worker", "x", "--rate", "5"), 2, "gets its options from its master"),
        ((*THERE, "--worker", "x", "--json"), 2, "gets its options from its master"),
        ((*THERE, "--master", "2", "--users", "1,2"), 2, "runs one step"),
        ((*THERE, "--max-tokens", "99999999999999999999"), 2, "--max-tokens"),
        ((*THERE, "--arrivals", "constant", "--rate", "1e-300", "--requests", "3"), 2, "would be due after"),
        (("--host", f"http://{'a' * 70}.com"), 2, "is no valid address"),
        ((*THERE, "--pid", "-1"), 2, "--pid"),
        ((*THERE, "--api-key", "sk-\u00e4"), 2, "--api-key: this value is not valid"),
        ((*THERE, "--api-key", "sk-known\n"), 2, "--api-key: this value is not valid"),
        (("--host", "http://127.0.0.1:99999"), 2, "is no valid address"),
        (("--host", "http://127.0.0.1:1?x=1"), 2, "has a query or a fragment"),
        (("--host", "http://me:hidden@127.0.0.1:1"), 2, "has a password"),
    ],
)
def test_wrong_use_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = CliRunner().invoke(command_load, ["chat", "--records", str(tmp_path / "records"), *arguments])
    assert (done.exit_code, told in done.stderr) == (code, True), done.stderr
    assert "hidden" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "records").exists()


def test_a_key_that_is_refused_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    class Refusing:
        script = (
            "from http.server import *\n"
            "class H(BaseHTTPRequestHandler):\n"
            "    def do_GET(self): self.send_response(401); self.end_headers()\n"
            "s = ThreadingHTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()\n"
        )

    with subprocess.Popen(
        [sys.executable, "-c", Refusing.script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        done = refused(f"http://127.0.0.1:{port}", tmp_path / "records")
        server.terminate()
    assert (done.exit_code, "rejects the API key with 401" in done.stderr) == (2, True)


def test_a_key_that_only_requests_need_fails_the_run(provider: str, tmp_path: Path) -> None:
    # The mock's list of models asks for no key.
    done = load(provider, tmp_path / "records", "--api-key", "sk-unknown", "--requests", "20")
    assert done.returncode == 1
    assert "http_401 20" in done.stdout
    assert "FAILED  no request succeeded" in done.stdout


@pytest.mark.slow
@pytest.mark.thorough
def test_more_than_the_machine_can_send_is_the_rigs_fault(provider: str, tmp_path: Path) -> None:
    arguments = ("--arrivals", "constant", "--rate", "30000", "--duration", "1")
    done = load(provider, tmp_path / "records", *arguments, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["verdict"].startswith("rig-limited: requests were sent late")
    assert pq.read_table(tmp_path / "records" / "records.parquet").num_rows > 1000


def test_a_disk_that_is_full_ends_the_load_with_that_reason(provider: str, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    argv = command("load", "chat", "--host", provider, "--records", str(folder), "--requests", "20000")
    limited = ["bash", "-c", 'ulimit -f 200; exec "$@"', "bash", *argv]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert f"cannot be written to {folder}" in done.stderr
    assert any(folder.glob("part-*"))


def test_a_name_may_begin_like_an_option_and_look_like_markup(provider: str, tmp_path: Path) -> None:
    folder = tmp_path / "[a]" / "[/b]"
    done = load(provider, folder, "--requests", "5", "--users", "1", "--arm=-x")
    assert (done.returncode, f"records: {folder}/records.parquet" in done.stdout) == (0, True), done.stderr


@pytest.mark.slow
def test_a_folder_belongs_to_one_load(provider: str, tmp_path: Path) -> None:
    with start(provider, tmp_path / "one", *OPEN, "--duration", "60") as process:
        children: list[Any] = psutil.Process(process.pid).children(recursive=True)
        second = load(provider, tmp_path / "one", "--requests", "5")
        reading = summary(tmp_path / "one")
        process.terminate()
        process.communicate(timeout=40)
    psutil.wait_procs(children, timeout=20)
    assert (second.returncode, reading.exit_code) == (2, 2)
    assert "already has a load" in second.stderr
    assert "is in use" in reading.stderr
    kept = summary(tmp_path / "one", "--json")
    assert kept.exit_code == 3, kept.stderr
    assert json.loads(kept.stdout)["steps"][0]["calls"]["chat"]["requests"] > 5


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("moment", ["at once", "as it begins"])
def test_a_worker_that_dies_early_is_told_though_only_time_ends_the_load(
    provider: str, tmp_path: Path, moment: str
) -> None:
    argv = command("load", "chat", "--host", provider, "--records", str(tmp_path), "--users", "4", "--duration", "3")
    with subprocess.Popen([*argv, "--workers", "2"], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        deadline = time.monotonic() + 30
        workers: list[psutil.Process] = []
        while time.monotonic() < deadline and not workers:
            time.sleep(0.01)
            workers = [one for child in psutil.Process(process.pid).children() for one in child.children()]
        while moment == "as it begins" and time.monotonic() < deadline and len(list(tmp_path.glob("part-*"))) < 2:
            time.sleep(0.01)
        workers[0].kill()
        process.communicate(timeout=120)
    assert process.returncode == 3


@pytest.mark.slow
def test_what_lies_around_is_no_option(provider: str, tmp_path: Path) -> None:
    (tmp_path / "locust.conf").write_text("run-time = 1s\n")
    environment = ENVIRONMENT | {"HOME": str(tmp_path), "LOCUST_RUN_TIME": "1s", "EVENKEEL_LOAD_REQUESTS": "3"}
    argv = command("load", "chat", "--host", provider, "--users", "5", "--requests", "200", "--json")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=environment, cwd=tmp_path)
    assert json.loads(done.stdout)["steps"][0]["calls"]["chat"]["requests"] == 200


@pytest.mark.slow
def test_a_load_that_is_killed_at_once_leaves_nothing(provider: str, tmp_path: Path) -> None:
    argv = command("load", "chat", "--host", provider, "--records", str(tmp_path), *OPEN, "--duration", "60")
    with subprocess.Popen([*argv, "--workers", "2"], stderr=subprocess.DEVNULL, env=ENVIRONMENT) as process:
        deadline = time.monotonic() + 20
        children: list[psutil.Process] = []
        while time.monotonic() < deadline and not children:
            time.sleep(0.01)
            children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert children
    assert psutil.wait_procs(children, timeout=10)[1] == []
    assert not list(tmp_path.glob("part-*"))


def sending(folder: Path) -> list[Path]:
    """Return what the processes that have begun to send tell of themselves."""
    return [path for path in folder.glob("health-*") if len(path.read_text().splitlines()) > 1]


def start(url: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command("load", "chat", "--host", url, "--records", str(folder), *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not sending(folder):
        time.sleep(0.05)
    return process


@pytest.mark.slow
def test_a_worker_that_dies_is_told(provider: str, tmp_path: Path) -> None:
    with start(provider, tmp_path, *OPEN, "--duration", "5", "--workers", "2", "--json") as process:
        (locust,) = psutil.Process(process.pid).children()
        locust.children()[0].kill()
        out, _ = process.communicate(timeout=40)
    assert process.returncode == 3
    assert "left no record" in json.loads(out)["verdict"]
    assert pq.read_table(tmp_path / "records.parquet").num_rows >= 250


@pytest.mark.parametrize(
    "number", [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGTERM, signal.SIGKILL))]
)
def test_a_stop_leaves_no_process_and_keeps_what_was_recorded(
    provider: str, tmp_path: Path, number: signal.Signals
) -> None:
    with start(provider, tmp_path, *OPEN, "--duration", "60", "--workers", "2") as process:
        children: list[Any] = psutil.Process(process.pid).children(recursive=True)
        assert len(children) == 3
        time.sleep(1)
        process.send_signal(number)
        process.communicate(timeout=40)
    assert psutil.wait_procs(children, timeout=20)[1] == []
    done = summary(tmp_path, "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["steps"][0]["calls"]["chat"]["requests"] >= 100


@pytest.mark.slow
def test_a_master_directs_workers_that_keep_their_records(provider: str, free_port: int, tmp_path: Path) -> None:
    there = ("--host", provider, "--records")
    master = command("load", "chat", *there, str(tmp_path / "all"), *OPEN, "--duration", "2", "--master", "2")
    worker = command("load", "chat", "--worker", f"127.0.0.1:{free_port}", *there)
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT))
            for argv in (
                [*master, "--master-port", str(free_port)],
                [*worker, str(tmp_path / "a")],
                [*worker, str(tmp_path / "b")],
            )
        ]
        told = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], told
    assert "then: evenkeel summary" in told[0]
    assert all("Copy the part-* and health-* files" in one for one in told[1:])
    for path in (*tmp_path.glob("[ab]/part-*"), *tmp_path.glob("[ab]/health-*")):
        path.rename(tmp_path / "all" / path.name)
    found = json.loads(evenkeel("summary", str(tmp_path / "all"), "--json").stdout)
    assert found["steps"][0]["calls"]["chat"]["requests"] == 200


def test_the_last_request_of_a_slow_open_load_is_recorded_too(provider: str, tmp_path: Path) -> None:
    arguments = ("--arrivals", "constant", "--rate", "5", "--requests", "3", "--json")
    done = load(provider, tmp_path / "records", *arguments)
    found = json.loads(done.stdout)["steps"][0]
    assert (found["expected"], found["calls"]["chat"]["requests"]) == (3, 3)
    assert done.returncode == 0 or "left no record" not in done.stdout
