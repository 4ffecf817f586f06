"""Our Prometheus callback in a real proxy with several workers: one truth, and all of it. Slow: it boots one."""

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
from prometheus_client.parser import text_string_to_metric_families as families

from evenkeel_lab.stack.litellm.config import Prometheus, ProxySpec
from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = pytest.mark.slow

VERSIONS = pytest.mark.parametrize("version", [DEFAULT_VERSION, "1.110.2"])
WORKERS, CLIENTS = 4, 20
# What was promised is 20,000, which take several minutes.
REQUESTS = int(os.environ.get("EVENKEEL_TEST_REQUESTS", "400"))
PAID = "litellm_requests_metric_total"
# A state of each process, which LiteLLM's Redis client shows, and no Prometheus callback.
OF_EACH_PROCESS = "litellm_redis_circuit_breaker_state"


def client(proxy: Proxy) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {proxy.master_key}"}
    # A connection for each request: of several workers, all of them shall hear of it.
    alone = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=proxy.url, headers=headers, timeout=60, limits=alone)


async def scraped(proxy: Proxy) -> list[tuple[str, str, dict[str, str], float]]:
    """Return what a scrape says: kind, name, labels and value of each sample."""
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


async def journal(below: Stack) -> int:
    """Return how many chats the provider has counted."""
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


async def counted(proxy: Proxy, number: int) -> None:
    """Wait until so many have been counted; there is never one more."""
    seen = 0.0
    async with asyncio.timeout(60):
        while seen < number:
            # A worker that ends may take a scrape and not answer it.
            with contextlib.suppress(httpx.TransportError):
                seen = sum(value for _, name, _, value in await scraped(proxy) if name == PAID)
            await asyncio.sleep(0.1 if seen < number else 0)
    assert seen == number


@VERSIONS
async def test_counts_of_a_worker_remain_after_it_ends(below: Stack, version: str) -> None:
    spec = ProxySpec(version, Prometheus.EVENKEEL, workers=2)
    async with below.proxy(spec, name="ended") as proxy:
        folder = proxy.config.parent / "prometheus"
        await served(proxy, 40)
        await counted(proxy, 40)
        await served(proxy, 20)
        # At once: what it has counted last is in no file yet.
        worker = next(path for path in folder.glob("counter_evenkeel-*-*.db"))
        os.kill(int(worker.stem.rpartition("-")[2]), signal.SIGTERM)
        await counted(proxy, 60)
        async with asyncio.timeout(60):
            while worker.exists():
                await asyncio.sleep(0.5)
        await counted(proxy, 60)


@VERSIONS
async def test_workers_have_exact_counters_and_each_gauge_once(below: Stack, version: str) -> None:
    spec = ProxySpec(version, Prometheus.EVENKEEL, workers=WORKERS)
    async with below.proxy(spec, name="counted") as proxy:
        before = await journal(below)
        await served(proxy, REQUESTS)
        answered = await journal(below) - before
        assert answered == REQUESTS
        await counted(proxy, answered)
        found = await scraped(proxy)
    by_name: Counter[str] = Counter()
    for _, name, _, value in found:
        by_name[name] += 0 if math.isnan(value) else value
    assert by_name[PAID] == answered
    for name in ("litellm_proxy_total_requests_metric_total", "litellm_request_total_latency_metric_count"):
        assert by_name[name] == answered, name
    samples = Counter((name, tuple(sorted(labels.items()))) for _, name, labels, _ in found)
    assert {one: number for one, number in samples.items() if number > 1} == {}
    assert {name for kind, name, labels, _ in found if kind == "gauge" and "pid" in labels} <= {OF_EACH_PROCESS}
    assert by_name["evenkeel_metrics_dropped_total"] == 0
