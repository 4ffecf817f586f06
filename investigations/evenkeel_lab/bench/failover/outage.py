"""The fourth drill: all accounts refuse for as long as a request may wait, and none of them says for how long."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.arm import CLIENT_SECONDS, EVENKEEL, OK, STOCK, Drill, post_faults, warm_up
from evenkeel_lab.bench.failover.profile import Stretch, Trouble, times
from evenkeel_lab.bench.result import Metric
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.accounts import Account
from evenkeel_lab.stack.litellm.config import MODEL
from evenkeel_lab.stack.stack import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

ACCOUNTS, RPM, RATE = 4, 6000, 8.0
SECONDS, REFUSE_AT, REFUSE_SECONDS = 12.0, 2.0, 5.0
REJECTION = "status=429"
REJECTED_STATUSES = (429, 503)
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "ahoy"}]}


@dataclass(frozen=True)
class Answer:
    """A request that was sent during the outage, as its client saw it."""

    status: int
    seconds: float
    has_retry_after: bool

    @property
    def is_served(self) -> bool:
        """Whether it was answered without an error."""
        return self.status == OK

    @property
    def is_rejection(self) -> bool:
        """Whether the client was told to come back later."""
        return self.status in REJECTED_STATUSES


def drill() -> Drill:
    """Return the drill."""
    accounts = tuple(Account(f"acct-{number}", RPM) for number in range(1, ACCOUNTS + 1))
    troubles = tuple(Trouble(account.name, REJECTION, REFUSE_AT, REFUSE_SECONDS) for account in accounts)
    return Drill(accounts, times([Stretch(0.0, RATE)], SECONDS), troubles)


async def bench_outage(steps: Steps, version: str, *, arms: Sequence[str] = (EVENKEEL, STOCK[0])) -> list[Metric]:
    """Run the drill with all arms, and return the metrics."""
    wanted, metrics = drill(), []
    async with stack(wanted.options(), steps=steps) as ground:
        for number, arm in enumerate(arms, 1):
            async with ground.proxy(wanted.subject(arm, version), name=arm, database_number=number) as proxy:
                with ground.steps.step(f"{arm}: {len(wanted.due):,} requests, all accounts refuse for 5 s"):
                    metrics += _metrics(arm, await run(ground, proxy, wanted))
    return metrics


async def run(ground: Stack, proxy: Proxy, wanted: Drill) -> list[Answer]:
    """Run the drill, and return the answers to the requests that were sent during the outage."""
    await warm_up(proxy)
    headers = {"authorization": f"Bearer {proxy.master_key}"}
    async with client(seconds=CLIENT_SECONDS, base_url=proxy.url, headers=headers) as asking:
        await post_faults(ground, wanted)
        start = time.monotonic()
        tasks = [asyncio.create_task(_send(asking, start + due)) for due in wanted.due]
        answers = await asyncio.gather(*tasks)
    await post_faults(ground, None)
    during = zip(wanted.due, answers, strict=True)
    return [answer for due, answer in during if REFUSE_AT <= due < REFUSE_AT + REFUSE_SECONDS]


async def _send(asking: httpx.AsyncClient, at: float) -> Answer:
    await asyncio.sleep(max(at - time.monotonic(), 0.0))
    response = await asking.post("/v1/chat/completions", json=BODY)
    return Answer(response.status_code, time.monotonic() - at, "retry-after" in response.headers)


def _metrics(arm: str, answers: Sequence[Answer]) -> list[Metric]:
    name, is_ours = arm.replace("-", "_"), arm == EVENKEEL
    served = [answer for answer in answers if answer.is_served]
    refused = [answer for answer in answers if answer.is_rejection]
    silent = sum(not answer.has_retry_after for answer in refused)
    slowest = max((answer.seconds for answer in served), default=0.0)
    return [
        Metric(
            f"outage_answered_share_{name}",
            len(served) / len(answers),
            "",
            ">= 0.95" if is_ours else None,
            f"{len(answers)} requests, {len(refused)} refused; the slowest that was served took {slowest:.1f} s",
        ),
        Metric(
            f"outage_refusals_without_retry_after_{name}",
            silent,
            "",
            "<= 0" if is_ours else None,
            f"of {len(refused)} refusals",
        ),
    ]
