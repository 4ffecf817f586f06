"""The mock as a server, with several workers: exact quotas, faults as clients meet them, the admin API."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest
import yaml

from evenkeel_mock.probe import ask, request_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunMock, RunningMock

BODY: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "how is the sea?"}]}
CHAT = "/v1/chat/completions"
SETTINGS = {
    "seed": 7,
    "accounts": [
        {"name": "limited", "key": "sk-limited", "rpm": 100},
        {"name": "contended", "key": "sk-contended", "rpm": 100},
        {"name": "narrow", "key": "sk-narrow", "concurrency": 3},
        {"name": "gone", "key": "sk-gone", "revoked": True},
    ],
    "others": "allow",
}


@pytest.fixture(scope="module")
def url(run_mock: RunMock) -> Iterator[str]:
    with run_mock(SETTINGS, "--workers", "4") as mock:
        yield mock.url


def client(url: str, key: str, **options: Any) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60, **options)


async def test_a_quota_is_exact_across_workers_under_concurrency(url: str) -> None:
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=0)
    async with client(url, "sk-contended", limits=limits) as asking:
        answers = await asyncio.gather(*(asking.post(CHAT, json=BODY) for _ in range(400)))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(429)) == (100, 300)
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert 0 < int(refused.headers["retry-after-ms"]) <= 60_000
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"


async def test_never_more_in_flight_than_allowed(url: str) -> None:
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=0)
    slow = {"x-mock-fault": "slow=1,add_ms=500"}
    async with client(url, "sk-narrow", limits=limits) as ask:
        answers = await asyncio.gather(*(ask.post(CHAT, json=BODY, headers=slow) for _ in range(20)))
        statuses = [answer.status_code for answer in answers]
        assert (statuses.count(200), statuses.count(429)) == (3, 17)
        assert (await ask.post(CHAT, json=BODY)).status_code == 200
        assert {row["in_flight"] for row in (await ask.get("/_mock/accounts")).json()} == {0}


async def test_a_client_that_leaves_is_no_longer_in_flight(url: str) -> None:
    async with client(url, "sk-leaving") as asking:
        with pytest.raises(httpx.ReadTimeout):
            await asking.post(CHAT, json=BODY, headers={"x-mock-fault": "hang"}, timeout=0.3)
        await asyncio.sleep(0.3)
        assert {row["in_flight"] for row in (await asking.get("/_mock/accounts")).json()} == {0}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("status=503", 503),
        ("status=429,retry_after=2", 429),
        ("error_event", 500),
        ("malformed", 200),
        ("half_event=0", 200),
    ],
)
async def test_faults_that_answer(url: str, fault: str, expected: int) -> None:
    async with client(url, "sk-any") as asking:
        answer = await asking.post(CHAT, json=BODY, headers={"x-mock-fault": fault})
        assert answer.status_code == expected
        if expected == 200:
            with pytest.raises(ValueError, match=r".+"):
                answer.json()


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reset_cuts_the_connection(url: str, stream: bool) -> None:  # noqa: FBT001
    async with client(url, "sk-any") as asking:
        with pytest.raises(httpx.ReadError):
            await asking.post(CHAT, json=BODY | {"stream": stream}, headers={"x-mock-fault": "reset=2"})


async def test_a_key_that_is_revoked_or_missing_is_refused(url: str) -> None:
    async with client(url, "sk-gone") as asking:
        assert (await asking.post(CHAT, json=BODY)).status_code == 401
        nobody = await asking.post(CHAT, json=BODY, headers={"authorization": ""})
        assert nobody.status_code == 401


async def test_a_fault_in_the_timeline_strikes_every_worker_and_its_account_only(url: str) -> None:
    async with client(url, "sk-any", limits=httpx.Limits(max_keepalive_connections=0)) as asking:
        timeline = [{"at": 0, "for": 60, "account": "limited", "fault": "status=500"}]
        assert (await asking.post("/_mock/faults", json=timeline)).is_success
        statuses = {(await asking.post(CHAT, json=BODY)).status_code for _ in range(12)}
        struck = {
            (await asking.post(CHAT, json=BODY, headers={"authorization": "Bearer sk-limited"})).status_code
            for _ in range(12)
        }
        assert (statuses, struck) == ({200}, {500})
        wrong = await asking.post("/_mock/faults", json=[{"att": 3}])
        assert wrong.status_code == 400
        assert "at" in wrong.json()["hint"]
        assert (await asking.post("/_mock/faults", json=[])).is_success


async def test_the_journal_tells_what_came_in_and_no_key(url: str) -> None:
    async with client(url, "sk-secret-of-mine") as asking:
        assert (await asking.post("/_mock/reset")).is_success
        await asking.post(CHAT, json=BODY, headers={"x-mock-key": "first"})
        await asking.post(CHAT, json=BODY | {"stream": True}, headers={"x-mock-key": "second"})
        await asking.post("/v1/messages", json=BODY | {"max_tokens": 3}, headers={"x-mock-key": "third"})
        lines = (await asking.get("/_mock/journal")).text.splitlines()
        told = {name: (await asking.get(f"/_mock/{name}")).text for name in ("state", "metrics", "journal/summary")}
    entries = [yaml.safe_load(line) for line in lines]
    assert [entry["key"] for entry in entries] == ["first", "second", "third"]
    assert [entry["endpoint"] for entry in entries] == ["chat", "chat", "messages"]
    assert [entry["streamed"] for entry in entries] == [False, True, False]
    assert [entry["completion_tokens"] for entry in entries] == [8, 8, 3]
    assert all(entry["received_ns"] <= entry["sent_ns"] <= entry["ended_ns"] for entry in entries)
    assert "secret" not in "".join([*lines, *told.values()])
    assert '"written":3,"kept":3,"lost":0' in told["journal/summary"]


async def test_windows_may_be_reset_before_their_time(url: str) -> None:
    async with client(url, "sk-limited") as asking:
        assert (await asking.post("/_mock/reset")).is_success
        answers = [await asking.post(CHAT, json=BODY) for _ in range(101)]
        assert [answer.status_code for answer in answers[-2:]] == [200, 429]
        assert (await asking.post("/_mock/refill", json={"account": "limited"})).json()["refilled"] == 1
        again = await asking.post(CHAT, json=BODY)
        assert (again.status_code, again.headers["x-ratelimit-remaining-requests"]) == (200, "99")
        # What has happened stays told.
        assert '"status":429,"count":1' in (await asking.get("/_mock/journal/summary")).text
        refused = await asking.post("/_mock/refill", json={"account": "limitd"})
        assert (refused.status_code, refused.json()["hint"]) == (400, "Did you mean 'limited'?")


def test_draws_are_the_same_in_any_order_and_with_any_number_of_workers(run_mock: RunMock) -> None:
    settings = {"seed": 3, "latency": {"length": "uniform(low=1, high=200)"}}
    keys = [f"key-{number}" for number in range(40)]

    def lengths(order: list[str], workers: int) -> dict[str, int]:
        with (
            run_mock(settings, "--workers", str(workers)) as mock,
            httpx.Client(base_url=mock.url, trust_env=False) as asking,
        ):
            found = {}
            for key in order:
                headers = {"authorization": "Bearer k", "x-mock-key": key}
                answer = asking.post(CHAT, json=BODY, headers=headers)
                found[key] = answer.json()["usage"]["completion_tokens"]
            return found

    assert lengths(keys, 1) == lengths(keys[::-1], 2)


def workers_of(mock: RunningMock) -> list[psutil.Process]:
    return psutil.Process(mock.process.pid).children()


def test_a_worker_that_dies_is_replaced(run_mock: RunMock) -> None:
    with run_mock({}, "--workers", "2") as mock:
        before = workers_of(mock)
        before[0].kill()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and set(workers_of(mock)) <= set(before):
            time.sleep(0.05)
        assert len(set(workers_of(mock)) - set(before)) == 1
        for _ in range(20):
            assert httpx.get(f"{mock.url}/_mock/health", trust_env=False).is_success
        assert "Another one takes its place" in mock.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_the_mock(run_mock: RunMock, number: signal.Signals) -> None:
    with run_mock({}, "--workers", "2") as mock:
        workers = workers_of(mock)
        mock.process.send_signal(number)
        assert mock.process.wait(10) == (-number if number == signal.SIGKILL else 0)
        assert psutil.wait_procs(workers, timeout=5)[1] == []
        assert "Traceback" not in mock.log.read_text()


def test_a_port_that_is_taken_is_refused(run_mock: RunMock) -> None:
    with run_mock({}) as mock:
        command = [sys.executable, "-m", "evenkeel_mock", "--port", mock.url.rpartition(":")[2]]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        assert refused.returncode == 2
        assert "is in use" in refused.stderr


@pytest.mark.slow
@pytest.mark.thorough
def test_memory_is_flat_over_200_000_requests_with_the_journal_on(run_mock: RunMock) -> None:
    request = request_bytes(json.dumps(BODY).encode())
    with run_mock({}, "--journal", "10000") as mock:
        port = int(mock.url.rpartition(":")[2])

        def mib_after(requests: int) -> float:
            for _ in range(requests // 5_000):
                ask(port, request, 100, 50)
            return sum(worker.memory_info().rss for worker in workers_of(mock)) / 2**20

        # By then the ring of the journal is full, and whatever is kept ready is there.
        before = mib_after(60_000)
        assert mib_after(200_000) - before < 1
        summary = httpx.get(f"{mock.url}/_mock/journal/summary", trust_env=False).json()
    assert (summary["written"], summary["kept"]) == (260_000, 10_000)
