"""Two proxies get the same requests at the same moments, while their accounts fail in the same way."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel_lab.bench.failover.journal import could_serve, read
from evenkeel_lab.demo import story
from evenkeel_lab.runner.measurement.counters import database
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.sample_requests import ask
from evenkeel_lab.stack.timed_requests import send_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx

    from evenkeel_lab.bench.failover.journal import Entry
    from evenkeel_lab.stack.litellm.accounts import Account
    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.timed_requests import TimedRequest

REFUSED_STATUSES = (401, 403, 429, 503)
CLIENT_SECONDS = 30.0
LOOK_SECONDS = 0.5
WARM_UPS, WARM_UPS_AT_ONCE = 16, 4
# The faults are posted before the first request.
LEAD_SECONDS = 0.5
NS = 1e9


@dataclass
class Contestant:
    """One of the two proxies, and what has happened to it so far."""

    title: str
    prefix: str
    proxy: Proxy
    key: str
    """A virtual key with a budget."""
    customers: Sequence[str]
    """End users with a budget."""
    answers: list[TimedRequest] = field(default_factory=list)
    attempts: list[Entry] = field(default_factory=list)
    transactions: int = 0
    """Transactions of its database during the contest."""

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Its accounts."""
        return story.accounts(self.prefix)

    @property
    def served(self) -> int:
        """Number of requests that were answered without an error."""
        return sum(answer.is_served for answer in self.answers)

    @property
    def rejections_seen(self) -> int:
        """Number of requests whose client saw that an account refused."""
        return sum(answer.status in REFUSED_STATUSES for answer in self.answers)

    @property
    def failed_attempts(self) -> int:
        """Number of attempts at accounts that failed."""
        return sum(bool(attempt.fault) for attempt in self.attempts)

    @property
    def slowest(self) -> float:
        """Seconds of the slowest request that was served."""
        return max((answer.end - answer.due for answer in self.answers if answer.is_served), default=0.0)

    def avoidable(self) -> int:
        """Return the number of requests that failed while an account would have served them."""
        failed = sorted(answer.end for answer in self.answers if not answer.is_served)
        return sum(could_serve(self.attempts, self.accounts, story.troubles(self.prefix), failed, {}))


async def run_contest(mock: str, contestants: Sequence[Contestant], on_change: Callable[[float], None]) -> None:
    """Run the whole story. `on_change` gets the seconds since its beginning, whenever there may be something new."""
    for contestant in contestants:
        proxy = contestant.proxy
        await ask(proxy.url, contestant.key, proxy.model, times=WARM_UPS, at_once=WARM_UPS_AT_ONCE)
    before = [(await database(contestant.proxy.services.database_url))["xact_commit"] for contestant in contestants]
    async with client(seconds=CLIENT_SECONDS) as asking:
        (await asking.post(f"{mock}/_mock/reset")).raise_for_status()
        start, start_ns = time.monotonic() + LEAD_SECONDS, time.time_ns() + int(LEAD_SECONDS * NS)
        faults = [trouble.entry() for contestant in contestants for trouble in story.troubles(contestant.prefix)]
        late = [{**fault, "at": float(str(fault["at"])) + LEAD_SECONDS} for fault in faults]
        (await asking.post(f"{mock}/_mock/faults", json=late)).raise_for_status()
        watching = asyncio.create_task(_watch(asking, mock, contestants, start, start_ns, on_change))
        try:
            await asyncio.gather(*(_send_all(contestant, start) for contestant in contestants))
        finally:
            watching.cancel()
            await asyncio.wait([watching])
            await asking.post(f"{mock}/_mock/faults", json=[])
        if not watching.cancelled():
            watching.result()
        await _look(asking, mock, contestants, start_ns)
    on_change(story.SECONDS)
    for contestant, count in zip(contestants, before, strict=True):
        now = await database(contestant.proxy.services.database_url)
        contestant.transactions = now["xact_commit"] - count


async def _watch(
    asking: httpx.AsyncClient,
    mock: str,
    contestants: Sequence[Contestant],
    start: float,
    start_ns: int,
    on_change: Callable[[float], None],
) -> None:
    while True:
        await _look(asking, mock, contestants, start_ns)
        on_change(max(time.monotonic() - start, 0.0))
        await asyncio.sleep(LOOK_SECONDS)


async def _look(asking: httpx.AsyncClient, mock: str, contestants: Sequence[Contestant], start_ns: int) -> None:
    """Read which attempts have reached the provider."""
    journal = read((await asking.get(f"{mock}/_mock/journal")).raise_for_status().text, start_ns)
    for contestant in contestants:
        names = {account.name for account in contestant.accounts}
        contestant.attempts = [attempt for attempt in journal if attempt.account in names]


async def _send_all(contestant: Contestant, start: float) -> None:
    proxy = contestant.proxy
    requests = [(due, _body(contestant, number)) for number, due in enumerate(story.due_times())]
    await send_all(proxy.url, contestant.key, requests, start, seconds=CLIENT_SECONDS, on_end=contestant.answers.append)


def _body(contestant: Contestant, number: int) -> dict[str, Any]:
    return {
        "model": contestant.proxy.model,
        "messages": [{"role": "user", "content": f"request {number}"}],
        "user": contestant.customers[number % len(contestant.customers)],
    }
