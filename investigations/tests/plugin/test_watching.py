"""The rotation seen from outside, in a real proxy with two workers and LiteLLM's own metrics."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.stack.litellm.config import Prometheus, ProxySpec, Rotation
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from evenkeel_lab.stack.stack import Stack

pytestmark = pytest.mark.slow

REQUESTS = 40


def values(text: str, name: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line.startswith(f"evenkeel_rotation_{name}")]
    return {one: float(value) for one, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.thorough
@pytest.mark.parametrize("version", [DEFAULT_VERSION, "1.110.2"])
async def test_two_workers_report_one_state_and_leave_no_process(
    below: Stack, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = ProxySpec(version, Prometheus.STOCK, rotation=Rotation.EVENKEEL, workers=2)
    async with (
        below.proxy(subject, name="watched") as proxy,
        httpx.AsyncClient(base_url=proxy.url, trust_env=False, timeout=60) as client,
    ):
        family = [process.pid for process in psutil.Process(proxy.info.pid).children(recursive=True)]
        assert len(family) > 2
        client.headers["Authorization"] = f"Bearer {proxy.master_key}"

        async def ask(number: int) -> None:
            # Each on a connection of its own, so that both workers are reached.
            body = {"model": proxy.model, "messages": [{"role": "user", "content": f"ahoy {number}"}]}
            answer = await client.post("/v1/chat/completions", json=body, headers={"Connection": "close"})
            assert answer.status_code == 200

        # Who takes a connection is for the kernel to say: an account is known to a worker by its first request.
        asked, workers, deadline = 0, dict[int, int](), time.monotonic() + 60
        while (len(workers) < 2 or 0 in workers.values()) and time.monotonic() < deadline:
            await asyncio.gather(*(ask(asked + number) for number in range(REQUESTS)))
            asked += REQUESTS
            for _ in range(20):
                told = (await client.get("/evenkeel/accounts", headers={"Connection": "close"})).json()
                workers[told["worker"]["pid"]] = told["total"]
        assert list(workers.values()) == [1, 1]
        # Workers look at their accounts, and tell of them, every few seconds.
        await asyncio.sleep(7)
        for path in ("/metrics/", "/evenkeel/metrics"):
            text = (await client.get(path)).text
            assert sum(values(text, "picks_total").values()) == asked
            assert sum(values(text, "attempts_total").values()) == asked
            assert set(values(text, "in_flight").values()) == {0.0}
            assert set(values(text, "traffic_ratio").values()) == {1.0}
            assert "pid=" not in "".join(values(text, ""))
            assert proxy.master_key not in text
            assert ("litellm_" in text) == (path == "/metrics/")
        where = ("--url", proxy.url, "--key", proxy.master_key)
        assert await asyncio.to_thread(cli, ["accounts", "--json", *where]) == 0
        assert json.loads(capsys.readouterr().out)["total"] == 1
        assert await asyncio.to_thread(cli, ["explain", proxy.model, *where]) == 0
        (account,) = {one["account"] for one in told["accounts"]}
        assert account in capsys.readouterr().out
        answer = await client.post("/key/generate", json={})
        key = answer.json()["key"]
        refused = await client.get("/evenkeel/accounts", headers={"Authorization": f"Bearer {key}"})
        assert refused.status_code in {401, 403}
        assert await asyncio.to_thread(cli, ["accounts", "--url", proxy.url, "--key", key]) == 2
    assert not any(psutil.pid_exists(pid) for pid in family)
