"""What is seen of the rotation from outside, in a real proxy of two workers that LiteLLM's own metrics are on for."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from evenkeel_lab.cli import cli
from evenkeel_lab.progress import Silent
from evenkeel_lab.stack.config import Prometheus, Rotation, Subject
from evenkeel_lab.stack.stack import Options, stack

pytestmark = pytest.mark.slow

REQUESTS = 40


def values(text: str, name: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line.startswith(f"evenkeel_rotation_{name}")]
    return {one: float(value) for one, _, value in (line.rpartition(" ") for line in lines)}


async def test_two_workers_are_one_truth(capsys: pytest.CaptureFixture[str]) -> None:
    subject = Subject(prometheus=Prometheus.STOCK, rotation=Rotation.EVENKEEL, workers=2)
    async with (
        stack(Options(), steps=Silent()) as ground,
        ground.proxy(subject) as proxy,
        httpx.AsyncClient(base_url=proxy.url, trust_env=False, timeout=60) as client,
    ):
        client.headers["Authorization"] = f"Bearer {proxy.master_key}"

        async def ask(number: int) -> None:
            # Each on a connection of its own, so that both workers are reached.
            body = {"model": proxy.model, "messages": [{"role": "user", "content": f"ahoy {number}"}]}
            answer = await client.post("/v1/chat/completions", json=body, headers={"Connection": "close"})
            assert answer.status_code == 200

        await asyncio.gather(*(ask(number) for number in range(REQUESTS)))
        workers = set()
        for _ in range(40):
            told = (await client.get("/evenkeel/accounts", headers={"Connection": "close"})).json()
            workers.add(told["worker"]["pid"])
        assert len(workers) == 2
        await asyncio.sleep(7)
        for path in ("/metrics/", "/evenkeel/metrics"):
            text = (await client.get(path)).text
            assert sum(values(text, "picks_total").values()) == REQUESTS
            assert sum(values(text, "ends_total").values()) == REQUESTS
            assert set(values(text, "in_flight").values()) == {0.0}
            assert set(values(text, "traffic_share").values()) == {1.0}
            assert "pid=" not in "".join(values(text, ""))
            assert proxy.master_key not in text
        where = ("--url", proxy.url, "--key", proxy.master_key)
        assert await asyncio.to_thread(cli, ["accounts", "--json", *where]) == 0
        assert json.loads(capsys.readouterr().out)["total"] == 1
        assert await asyncio.to_thread(cli, ["explain", proxy.model, *where]) == 0
        assert "is chosen" in capsys.readouterr().out
        answer = await client.post("/key/generate", json={})
        key = answer.json()["key"]
        refused = await client.get("/evenkeel/accounts", headers={"Authorization": f"Bearer {key}"})
        assert refused.status_code in {401, 403}
        assert await asyncio.to_thread(cli, ["accounts", "--url", proxy.url, "--key", key]) == 2
