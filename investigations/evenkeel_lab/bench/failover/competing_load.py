"""Load of others on the same accounts, which a router cannot know before a request is rejected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from evenkeel_lab.bench.failover.journal import OTHERS, REFUSED
from evenkeel_lab.stack.http_client import client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import httpx

    from evenkeel_lab.stack.litellm.accounts import Account

AT_ONCE = 8


def use_up(mock: str, accounts: Sequence[Account]) -> Callable[[], Awaitable[None]]:
    """Return a function that uses up all accounts directly at the provider."""

    async def ask(asking: httpx.AsyncClient, account: Account) -> None:
        body = {"model": OTHERS, "messages": [{"role": "user", "content": "ahoy"}]}
        headers = {"authorization": f"Bearer {account.key}"}
        while (await asking.post("/v1/chat/completions", json=body, headers=headers)).status_code != REFUSED:
            pass

    async def act() -> None:
        async with client(seconds=10, base_url=mock) as asking:
            await asyncio.gather(*(ask(asking, account) for account in accounts for _ in range(AT_ONCE)))

    return act
