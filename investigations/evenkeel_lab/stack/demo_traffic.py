"""The demonstration: a real proxy, 200 requests with a virtual key, and where their cost went."""

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
NEEDED_BEYOND = 20
CONCURRENCY = 10
SPEND_SECONDS = 60.0
# LiteLLM writes spend every 10 s; a demonstration should not have to wait for that.
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
    """How long the requests took, in seconds."""

    seconds: tuple[float, ...]

    def supports(self, percent: int) -> bool:
        """Whether enough requests lie beyond a quantile for it to mean something."""
        return len(self.seconds) * (100 - percent) / 100 >= NEEDED_BEYOND

    def quantile(self, percent: int) -> float:
        """Return one of the quantiles from 1 to 99 percent."""
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[percent - 1]


@dataclass(frozen=True)
class Landing:
    """Where spend was written: rows and dollars of one table."""

    where: str
    rows: int
    dollars: float


@dataclass(frozen=True)
class Result:
    """All that the demonstration shows."""

    plain: Latencies
    streamed: Latencies
    gauges: dict[str, float]
    spend: list[Landing]


async def demonstrate(proxy: Proxy, steps: Steps) -> Result:
    """Send the requests and look at what came of them."""
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
    """Send all requests, some at a time."""
    places = asyncio.Semaphore(CONCURRENCY)
    headers = {"Authorization": f"Bearer {made.key}"}
    async with client(seconds=60, base_url=proxy.url, headers=headers) as sending:

        async def one(number: int, *, stream: bool) -> float:
            body: dict[str, Any] = {
                "model": proxy.model,
                "stream": stream,
                "user": made.customers[number % len(made.customers)],
                "messages": [{"role": "user", "content": f"Request {number}: how is the sea?"}],
            }
            async with places:
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
        seconds = await asyncio.gather(*(one(number, stream=kind) for number, kind in enumerate(kinds)))
    pairs = list(zip(seconds, kinds, strict=True))
    plain = tuple(taken for taken, stream in pairs if not stream)
    return Latencies(plain), Latencies(tuple(taken for taken, stream in pairs if stream))


async def budget_gauges(proxy: Proxy) -> dict[str, float]:
    """Read the budget gauges that dashboards rely on."""
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
    """Wait until every request is in the log and no table lags behind it; return what each holds."""
    connection = await connect(database_url)
    deadline = time.monotonic() + SPEND_SECONDS
    try:
        while True:
            found = []
            for where, query, entity in SPEND:
                row = await connection.fetchrow(query, getattr(made, entity))
                found.append(Landing(where, row[0], float(row[1] or 0)) if row else Landing(where, 0, 0.0))
            if have_landed(found) or time.monotonic() > deadline:
                return found
            await asyncio.sleep(0.5)
    finally:
        await connection.close()


def have_landed(found: list[Landing]) -> bool:
    """Whether every request is in the log, and no table lags behind it."""
    log, *_ = found
    return log.rows >= REQUESTS and all(abs(one.dollars - log.dollars) < 0.01 * log.dollars for one in found)
