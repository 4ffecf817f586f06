"""Attacks that once broke the mock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunMock

BODY: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "how is the sea?"}]}
CHAT = "/v1/chat/completions"
NESTED: dict[str, Any] = {"type": "string"}
for _ in range(6):
    NESTED = {"type": "array", "minItems": 16, "items": NESTED}
GREEDY = {"name": "f", "parameters": {"type": "object", "properties": {"a": NESTED}, "required": ["a"]}}


@pytest.fixture(scope="module")
def url(run_mock: RunMock) -> Iterator[str]:
    settings = {
        "latency": {"gap_ms": "uniform(low=1, high=3)", "length": 5},
        "accounts": [
            {"name": "a", "key": "sk-a", "rpm": 5},
            {"name": "tight", "key": "sk-tight", "tpm": 1000},
            {"name": "odd", "key": "sk-odd", "windows": [{"name": "a: b", "for": "1h", "requests": 9}]},
        ],
        "others": "allow",
        "answers": {"echo": False},
    }
    with run_mock(settings) as mock:
        yield mock.url
        assert "Traceback" not in mock.log.read_text()


def client(url: str, key: str = "sk-any", **options: Any) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=10, **options)


def in_flight(asking: httpx.Client) -> int:
    return sum(row["in_flight"] for row in asking.get("/_mock/accounts").json())


@pytest.mark.parametrize("fault", ["malformed=2", "half_event=99", "error_event=99", "malformed=99", "reset=99"])
def test_a_fault_in_one_stream_does_not_stop_another(url: str, fault: str) -> None:
    with client(url) as asking:
        with contextlib.suppress(httpx.ReadError):
            text = asking.post(CHAT, json=BODY | {"stream": True}, headers={"x-mock-fault": fault}).text
            # It strikes at the last chunk at the latest: nothing comes after the end mark.
            assert not text.endswith("[DONE]\n\n") or fault.startswith("malformed")
            assert text.count("[DONE]") <= 1
        assert asking.post(CHAT, json=BODY | {"stream": True}).text.endswith("[DONE]\n\n")
        assert in_flight(asking) == 0


def test_garbage_in_the_middle_of_a_stream_ends_that_one_only(url: str) -> None:
    port = int(url.rpartition(":")[2])
    body = json.dumps(BODY | {"stream": True}).encode()
    slow = b"POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer x\r\nx-mock-fault: slow=100\r\n"
    with socket.create_connection(("127.0.0.1", port)) as wire, client(url) as asking:
        wire.sendall(slow + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        wire.recv(100)
        wire.sendall(b"\0garbage\r\n\r\n")
        assert asking.post(CHAT, json=BODY | {"stream": True}).text.endswith("[DONE]\n\n")
        assert in_flight(asking) == 0


@pytest.mark.parametrize("value", ["status=429,retry_after=1e300", "hang=1e300", "slow=1e400"])
def test_a_fault_beyond_all_measure_is_refused(url: str, value: str) -> None:
    with client(url) as asking:
        assert asking.post(CHAT, json=BODY, headers={"x-mock-fault": value}).status_code == 400


def test_a_schema_that_asks_for_too_much_is_refused_at_once(url: str) -> None:
    tool = {"type": "function", "function": GREEDY}
    began = time.monotonic()
    with client(url) as asking:
        answer = asking.post(CHAT, json=BODY | {"tools": [tool], "tool_choice": "required"})
    assert answer.status_code == 400
    assert "10000 values" in answer.json()["error"]["message"]
    assert time.monotonic() - began < 5


def test_a_refusal_by_fault_tells_what_is_really_left(url: str) -> None:
    with client(url, "sk-a") as asking:
        for left in (4, 3):
            assert asking.post(CHAT, json=BODY).headers["x-ratelimit-remaining-requests"] == str(left)
        struck = asking.post(CHAT, json=BODY, headers={"x-mock-fault": "status=429"})
        assert (struck.status_code, struck.headers["x-ratelimit-remaining-requests"]) == (429, "3")


def test_a_windows_name_may_be_any(url: str) -> None:
    with client(url, "sk-odd") as asking:
        told = asking.post("/v1/messages", json=BODY | {"max_tokens": 3}).headers
    assert told["anthropic-ratelimit-unified-a-b-status"] == "allowed"


def test_an_echo_is_counted_and_timed_by_its_own_length(run_mock: RunMock) -> None:
    settings = {
        "latency": {"gap_ms": 10},
        "answers": {"echo": True},
        "accounts": [{"name": "a", "key": "sk-any", "tpm": 200}],
    }
    said = {"model": "m", "messages": [{"role": "user", "content": "word " * 60}]}
    with run_mock(settings) as mock, client(mock.url) as asking:
        answer = asking.post(CHAT, json=said)
        took = int(answer.headers["x-mock-sent-ns"]) - int(answer.headers["x-mock-received-ns"])
        assert took >= (answer.json()["usage"]["completion_tokens"] - 2) * 10_000_000
        assert asking.post(CHAT, json=said).status_code == 429
        (row,) = asking.get("/_mock/accounts").json()
        assert row["windows"][0]["used"] <= 200


def test_limits_that_change_while_requests_are_in_flight_are_kept(run_mock: RunMock) -> None:
    account = {"name": "a", "key": "sk-any", "rpm": 100}

    async def ask(url: str) -> list[int]:
        headers = {"authorization": "Bearer sk-any"}
        async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=10) as asking:
            slow = {"x-mock-fault": "slow=1,add_ms=600"}
            first = [asyncio.create_task(asking.post(CHAT, json=BODY, headers=slow)) for _ in range(4)]
            await asyncio.sleep(0.3)
            (await asking.post("/_mock/accounts", json=[account | {"rpm": 5, "tpm": 100_000}])).raise_for_status()
            later = []
            for _ in range(12):
                later.append((await asking.post(CHAT, json=BODY)).status_code)
                await asyncio.sleep(0.05)
            await asyncio.gather(*first)
            later += [(await asking.post(CHAT, json=BODY)).status_code for _ in range(4)]
            return later

    with run_mock({"accounts": [account]}) as mock:
        assert asyncio.run(ask(mock.url)).count(200) == 5


def test_a_new_timeline_does_not_revive_an_expired_account(run_mock: RunMock) -> None:
    settings = {"accounts": [{"name": "a", "key": "sk-any", "expires": "1s"}]}
    with run_mock(settings) as mock, client(mock.url) as asking:
        time.sleep(1.1)
        assert asking.post(CHAT, json=BODY).status_code == 401
        assert asking.post("/_mock/faults", json=[]).is_success
        assert asking.post(CHAT, json=BODY).status_code == 401


def test_an_account_with_another_key_is_the_same_account(run_mock: RunMock) -> None:
    with run_mock({"accounts": [{"name": "a", "key": "sk-1", "rpm": 3}]}) as mock:
        with client(mock.url, "sk-1") as asking:
            assert asking.post(CHAT, json=BODY).is_success
            assert asking.post("/_mock/accounts", json=[{"name": "a", "key": "sk-2", "rpm": 3}]).is_success
        with client(mock.url, "sk-2") as asking:
            assert asking.post(CHAT, json=BODY).headers["x-ratelimit-remaining-requests"] == "1"
            assert asking.get("/_mock/metrics").text.count('in_flight{account="a"}') == 1


def test_a_measured_file_may_go_once_it_was_read(run_mock: RunMock, tmp_path: Path) -> None:
    path = tmp_path / "measured.txt"
    path.write_text("1\n2\n3\n")
    with run_mock({"latency": {"ttft_ms": f"empirical(file={path})"}}) as mock, client(mock.url) as asking:
        path.unlink()
        assert asking.post("/_mock/seed", json=5).is_success
        assert asking.post(CHAT, json=BODY).is_success
        assert asking.get("/_mock/state").is_success
        assert asking.post("/_mock/latency", json={"ttft_ms": "empirical(file=gone.txt)"}).status_code == 400


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.02, 0.05, 0.1])
def test_a_stop_during_the_start_is_a_stop(delay: float) -> None:
    command = [sys.executable, "-m", "evenkeel_mock", "--workers", "16", "--port", str(free_port())]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        # It speaks just before it starts its workers.
        process.stderr.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_of_two_mocks_that_start_at_once_one_has_the_port() -> None:
    command = [sys.executable, "-m", "evenkeel_mock", "--port", str(free_port())]
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and all(process.poll() is None for process in both):
            time.sleep(0.05)
        assert sorted(process.poll() or 0 for process in both) == [0, 2]
    finally:
        for process in both:
            process.terminate()
            process.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize(
    "written",
    [
        "latency: 200",
        "latency: [1, 2]",
        "accounts: [{name: a, expires: 2030-02-30}]",
        "seed: !!int foo",
        "seed: !!binary NQ==",
        "accounts: [{name: a, windows: [{for: 1.0e+300, requests: 3}]}]",
        "latency: {ttft_ms: 100000000000000000000000}",
        'models: ["\\ud800"]',
        'accounts: [{name: "a\\nb"}]',
        "latency: {ttft_ms: 1e308*5 + 1e308*6}",
        'latency: {ttft_ms: "empirical(file=a\\0b)"}',
        f"latency: {{ttft_ms: '{'1*' * 3000}5'}}",
        "[" * 3000,
        f"accounts: [{{name: {'x' * 49}}}]",
    ],
)
def test_settings_that_cannot_be_are_one_sentence(written: str, tmp_path: Path) -> None:
    refused = rejection(tmp_path, written)
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr


@pytest.mark.parametrize("more", [["--calibrate"], ["--length", "3"]])
@pytest.mark.parametrize("written", ["latency: 200", "seed: !!binary NQ=="])
def test_nor_are_they_read_otherwise_with_options(written: str, more: list[str], tmp_path: Path) -> None:
    refused = rejection(tmp_path, written, *more)
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr


def rejection(folder: Path, written: str, *more: str) -> subprocess.CompletedProcess[str]:
    path = folder / "mock.yaml"
    path.write_text(written)
    command = [sys.executable, "-m", "evenkeel_mock", "--port", str(free_port()), "--config", str(path), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
