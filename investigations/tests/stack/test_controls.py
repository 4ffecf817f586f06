"""Controls of operators in a real proxy with two workers: in both within moments, and after a restart."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest

from evenkeel_lab.stack.litellm.config import ProxySpec, Rotation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = pytest.mark.slow

SHARED = {"evenkeel": {"rotation": {"shared": {"redis_url": "litellm"}, "queue_timeout": 0}}}
SPEC = ProxySpec(rotation=Rotation.EVENKEEL, workers=2, settings=SHARED)
# Each request on a connection of its own may reach the other worker.
ANY_WORKER = {"Connection": "close"}


class Operator:
    """An admin of one proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self._model = proxy.model
        self._client = httpx.AsyncClient(base_url=proxy.url, trust_env=False, timeout=60)
        self._client.headers["Authorization"] = f"Bearer {proxy.master_key}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def ask(self) -> httpx.Response:
        body = {"model": self._model, "messages": [{"role": "user", "content": "ahoy"}]}
        return await self._client.post("/v1/chat/completions", json=body, headers=ANY_WORKER)

    async def act(self, action: str, account: str) -> dict[str, Any]:
        response = await self._client.post(f"/evenkeel/accounts/{account}/{action}", json={"reason": "a test"})
        response.raise_for_status()
        return response.json()

    async def states(self) -> dict[int, tuple[str, str]]:
        """Return the only account and its state by worker, of the workers that answered."""
        responses = [await self._client.get("/evenkeel/accounts", headers=ANY_WORKER) for _ in range(20)]
        return {
            document["worker"]["pid"]: (document["accounts"][0]["account"], document["accounts"][0]["state"])
            for document in (response.json() for response in responses)
            if document["accounts"]
        }


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.05)


async def test_a_control_holds_in_all_workers_and_after_a_restart(below: Stack) -> None:
    async with below.proxy(SPEC, name="controlled") as proxy, Operator(proxy) as operator:

        async def is_known_to_both() -> bool:
            assert (await operator.ask()).status_code == 200
            return len(await operator.states()) == 2

        async def is_paused_in_both() -> bool:
            return [state for _, state in (await operator.states()).values()] == ["paused", "paused"]

        await until(is_known_to_both)
        ((account, _), *_) = (await operator.states()).values()
        assert (await operator.act("pause", account))["everywhere"]
        await until(is_paused_in_both)
        assert {(await operator.ask()).status_code for _ in range(10)} == {503}
    async with below.proxy(SPEC, name="restarted") as proxy, Operator(proxy) as operator:
        assert {(await operator.ask()).status_code for _ in range(10)} == {503}
        assert (await operator.act("resume", account))["everywhere"]

        async def is_served() -> bool:
            return {(await operator.ask()).status_code for _ in range(10)} == {200}

        await until(is_served)
