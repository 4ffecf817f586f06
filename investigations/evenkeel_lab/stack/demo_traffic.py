"""The demonstration: 200 requests with a virtual key to a real proxy, their latency and their spend."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm import fixtures
from evenkeel_lab.stack.servers.postgres import connect

if TYPE_CHECKING:
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.litellm.fixtures import Entities
    from evenkeel_lab.stack.litellm.proxy import Proxy

REQUESTS = 200
STREAMED = 20
MIN_BEYOND_QUANTILE = 20
CONCURRENCY = 10
SPEND_SECONDS = 60.0
# LiteLLM writes spend every 10 s; the demonstration should not wait that long.
SETTINGS = {"general_settings": {"proxy_batch_write_at": 2}}
BUDGET_GAUGES = ("litellm_remaining_{}_budget_metric", "litellm_{}_max_budget_metric")
SPEND = (
    ("request log", 'SELECT count(*), sum(spend) FROM "LiteLLM_SpendLogs" WHERE team_id = $1', "team"),
    ("key", 'SELECT count(*), sum(spend) FROM "LiteLLM_VerificationToken" WHERE team_id = $1', "team"),
    ("team", 'SELECT count(*), sum(spend) FROM "LiteLLM_TeamTable" WHERE team_id = $1', "team"),
    ("user", 'SELECT count(*), sum(spend) FROM "LiteLLM_UserTable" WHERE user_id = $1', "user"),
    ("team, daily", 'SELECT count(*), sum(spend) FROM "LiteLLM_DailyTeamSpend" WHERE team_id = $1', "team"),
    ("user, daily", 'SELECT count(*), sum(spend) FROM "LiteLLM_DailyUserSpend" WHERE user_id = $1', "user"),
)


@dataclass(frozen=True)
class Latencies:
    """Latencies of requests, in seconds."""

    seconds: tuple[float, ...]

    def supports(self, percent: int) -> bool:
        """Return whether enough requests lie beyond the quantile `percent` to report it."""
        return len(self.seconds) * (100 - percent) / 100 >= MIN_BEYOND_QUANTILE

    def quantile(self, percent: int) -> float:
        """Return the quantile `percent`, from 1 to 99."""
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[percent - 1]


@dataclass(frozen=True)
class Landing:
    """Rows and spend, in dollars, of one table."""

    where: str
    rows: int
    dollars: float


@dataclass(frozen=True)
class Result:
    """Result of the demonstration."""

    plain: Latencies
    streamed: Latencies
    gauges: dict[str, float]
    spend: list[Landing]


async def demonstrate(proxy: Proxy, steps: Steps) -> Result:
    """Send the requests, and return their latencies, gauges and spend."""
    with steps.step("a team, a user, a key, customers with budgets"):
        made = await fixtures.create(proxy)
    try:
        with steps.step(f"{REQUESTS} chat requests, {STREAMED} of them streamed"):
            plain, streamed = await send(proxy, made)
        with steps.step("the spend reaching Postgres"):
            spend = await landed(proxy.services.database_url, made)
        return Result(plain, streamed, await budget_gauges(proxy), spend)
    finally:
        await fixtures.remove(proxy, made)


async def send(proxy: Proxy, made: Entities) -> tuple[Latencies, Latencies]:
    """Send all requests, CONCURRENCY at a time."""
    slots = asyncio.Semaphore(CONCURRENCY)
    headers = {"Authorization": f"Bearer {made.key}"}
    async with client(seconds=60, base_url=proxy.url, headers=headers) as sending:

        async def send_request(number: int, *, stream: bool) -> float:
            body: dict[str, Any] = {
                "model": proxy.model,
                "stream": stream,
                "user": made.customers[number % len(made.customers)],
                "messages": [{"role": "user", "content": f"Request {number}: how is the sea?"}],
            }
            async with slots:
                start = time.perf_counter()
                answer = await sending.post("/v1/chat/completions", json=body)
                elapsed = time.perf_counter() - start
            if answer.is_error or (stream and "[DONE]" not in answer.text):
                raise ProcessFailed(
                    f"The proxy answered request {number} with {answer.status_code}: {answer.text[:300]}.",
                    hint=f"See its log: {proxy.info.log}",
                )
            return elapsed

        every = REQUESTS // STREAMED
        kinds = [number % every == 0 for number in range(REQUESTS)]
        seconds = await asyncio.gather(*(send_request(number, stream=kind) for number, kind in enumerate(kinds)))
    pairs = list(zip(seconds, kinds, strict=True))
    plain = tuple(taken for taken, stream in pairs if not stream)
    return Latencies(plain), Latencies(tuple(taken for taken, stream in pairs if stream))


async def budget_gauges(proxy: Proxy) -> dict[str, float]:
    """Return the budget gauges at /metrics."""
    headers = {"Authorization": f"Bearer {proxy.master_key}"}
    async with client(seconds=30, follow_redirects=True, headers=headers) as reading:
        text = (await reading.get(f"{proxy.url}/metrics")).text
    names = {gauge.format(kind) for gauge in BUDGET_GAUGES for kind in ("team", "api_key", "user")}
    return {
        family.name: sample.value
        for family in text_string_to_metric_families(text)
        if family.name in names
        for sample in family.samples
        if "None" not in sample.labels.values() or len(family.samples) == 1
    }


async def landed(database_url: str, made: Entities) -> list[Landing]:
    """Wait until all tables agree, at most SPEND_SECONDS; return their rows and spend."""
    connection = await connect(database_url)
    deadline = time.monotonic() + SPEND_SECONDS
    try:
        while True:
            landings = []
            for where, query, entity in SPEND:
                row = await connection.fetchrow(query, getattr(made, entity))
                landings.append(Landing(where, row[0], float(row[1] or 0)) if row else Landing(where, 0, 0.0))
            if have_landed(landings) or time.monotonic() > deadline:
                return landings
            await asyncio.sleep(0.5)
    finally:
        await connection.close()


def have_landed(landings: list[Landing]) -> bool:
    """Return whether every request is in the log, and every table has the spend of the log."""
    log, *_ = landings
    return log.rows >= REQUESTS and all(abs(table.dollars - log.dollars) < 0.01 * log.dollars for table in landings)
