"""The Prometheus callback of the plugin in a real proxy with two workers. Slow: a boot takes half a minute."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from collections import Counter
from typing import TYPE_CHECKING

import httpx
import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families as families

from evenkeel_lab.stack.litellm.config import Prometheus, ProxySpec
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = pytest.mark.slow

CLIENTS = 20
# 20,000 requests, which were promised, take several minutes.
REQUESTS = int(os.environ.get("EVENKEEL_TEST_REQUESTS", "200"))
PAID = "litellm_requests_metric_total"
# A gauge per process, which LiteLLM's Redis client sets and no Prometheus callback.
OF_EACH_PROCESS = "litellm_redis_circuit_breaker_state"


@pytest_asyncio.fixture(scope="module", params=[pytest.param(DEFAULT_VERSION, marks=pytest.mark.thorough), "1.110.2"])
async def proxy(request: pytest.FixtureRequest, below: Stack) -> AsyncIterator[Proxy]:
    async with below.proxy(ProxySpec(request.param, Prometheus.EVENKEEL, workers=2), name="counted") as running:
        yield running


def client(proxy: Proxy) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {proxy.master_key}"}
    # A connection for each request, so that all workers are reached.
    alone = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=proxy.url, headers=headers, timeout=60, limits=alone)


async def scraped(proxy: Proxy) -> list[tuple[str, str, dict[str, str], float]]:
    """Return kind, name, labels and value of each sample of a scrape."""
    async with client(proxy) as sender:
        answer = await sender.get("/metrics/", follow_redirects=True)
    return [
        (family.type, sample.name, sample.labels, sample.value)
        for family in families(answer.raise_for_status().text)
        for sample in family.samples
    ]


async def served(proxy: Proxy, number: int) -> None:
    left = iter(range(number))

    async def ask(sender: httpx.AsyncClient) -> None:
        for _ in left:
            body = {"model": proxy.model, "messages": [{"role": "user", "content": "ahoy"}]}
            (await sender.post("/v1/chat/completions", json=body)).raise_for_status()

    async with client(proxy) as sender:
        await asyncio.gather(*(ask(sender) for _ in range(CLIENTS)))


async def answered(below: Stack) -> int:
    """Return how many chats the mock provider has answered."""
    async with httpx.AsyncClient(timeout=60) as sender:
        answer = await sender.get(f"{below.mock.url}/_mock/metrics")
    return round(
        sum(
            sample.value
            for family in families(answer.raise_for_status().text)
            for sample in family.samples
            if sample.name == "evenkeel_mock_requests_total" and sample.labels["endpoint"] == "chat"
        )
    )


async def totals(proxy: Proxy) -> Counter[str]:
    """Return the sum of each metric over its series."""
    sums: Counter[str] = Counter()
    for _, name, _, value in await scraped(proxy):
        sums[name] += 0 if math.isnan(value) else value
    return sums


async def until_counted(proxy: Proxy, number: float) -> None:
    """Wait until `number` requests are counted. There is never one more."""
    counted = 0.0
    async with asyncio.timeout(180):
        while counted < number:
            # A worker that ends may accept a scrape and not answer it.
            with contextlib.suppress(httpx.TransportError):
                counted = (await totals(proxy))[PAID]
            # A scrape costs a busy proxy as much as some requests do.
            await asyncio.sleep(1 if counted < number else 0)
    assert counted == number


async def test_counts_of_a_worker_outlive_it(proxy: Proxy) -> None:
    before = (await totals(proxy))[PAID]
    folder = proxy.config.parent / "prometheus"
    await served(proxy, 40)
    await until_counted(proxy, before + 40)
    await served(proxy, 20)
    # At once: its last counts are in no file yet.
    worker = next(path for path in folder.glob("counter_evenkeel-*-*.db"))
    os.kill(int(worker.stem.rpartition("-")[2]), signal.SIGTERM)
    await until_counted(proxy, before + 60)
    async with asyncio.timeout(60):
        while worker.exists():
            await asyncio.sleep(0.5)
    await until_counted(proxy, before + 60)


async def test_counts_of_all_workers_are_exact_and_each_gauge_appears_once(below: Stack, proxy: Proxy) -> None:
    before, answered_before = await totals(proxy), await answered(below)
    await served(proxy, REQUESTS)
    assert await answered(below) - answered_before == REQUESTS
    await until_counted(proxy, before[PAID] + REQUESTS)
    after = await totals(proxy)
    for name in ("litellm_proxy_total_requests_metric_total", "litellm_request_total_latency_metric_count"):
        assert after[name] - before[name] == REQUESTS, name
    assert after["evenkeel_metrics_dropped_total"] == 0
    samples = await scraped(proxy)
    series = Counter((name, tuple(sorted(labels.items()))) for _, name, labels, _ in samples)
    assert {key: number for key, number in series.items() if number > 1} == {}
    assert {name for kind, name, labels, _ in samples if kind == "gauge" and "pid" in labels} <= {OF_EACH_PROCESS}
