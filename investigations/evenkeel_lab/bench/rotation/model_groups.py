"""What choosing an account costs where there are many model groups, and what a whole request does.

A pick is measured without a proxy, a request by a client that waits for each answer from one that nobody else asks.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.accounts import unlimited_accounts
from evenkeel_lab.stack.litellm.config import MODEL, ProxySpec, Rotation
from evenkeel_lab.stack.stack import Options, stack
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

PICKS, WARM_UP_SHARE = 4_000, 0.25
REQUESTS, FIRST_REQUESTS = 300, 150
MICROSECONDS = 1e6
MESSAGES = [{"role": "user", "content": "ahoy"}]
ANSWER: dict[str, Any] = {"usage": {"prompt_tokens": 50, "completion_tokens": 30}, "_hidden_params": {}}


def pick(seed: int, *, groups: int = 3, accounts: int = 3, cached: bool = True, picks: int = PICKS) -> float:
    """Return how many microseconds a pick takes, of requests that ask for any of the groups."""
    several: dict[str, list[dict[str, Any]]] = {}
    for one in unlimited_accounts(accounts, groups):
        several.setdefault(one.group or MODEL, []).append(one.deployment(MODEL, "http://127.0.0.1:9/v1"))
    chance = random.Random(seed)
    router = unwatched(RotationSettings(), chance)
    if not cached:
        router.candidates.lookup = router.candidates.resolve  # type: ignore[method-assign]
    first = int(picks * WARM_UP_SHARE)
    asked = chance.choices(list(several), k=first + picks)
    return asyncio.run(_picked(router, several, asked, first)) * MICROSECONDS


def saved(seed: int, *, groups: int = 3, accounts: int = 3) -> float:
    """Return by how many microseconds a pick is shorter with what is remembered than without."""
    known, anew = (pick(seed, groups=groups, accounts=accounts, cached=cached) for cached in (True, False))
    return anew - known


def unwatched(settings: RotationSettings, chance: random.Random) -> AccountRouter:
    """Return a rotation of one event loop, without a proxy around it."""
    return AccountRouter(
        settings,
        clock=time.monotonic,
        random=chance.random,
        spec=lambda deployment, model: DeploymentSpec.from_litellm(deployment, {}, model),
        observer=Observer(),
    )


def request(seed: int, *, groups: int = 3, accounts: int = 3, ttft_ms: float = 10.0) -> float:
    """Return how many microseconds a request takes through a proxy, of requests that ask for any of the groups."""
    fleet_of_proxy = unlimited_accounts(accounts, groups)
    # A name that stands for others is asked for by one of those.
    models = sorted({one.group.replace("*", "chat") or MODEL for one in fleet_of_proxy})
    asked = random.Random(seed).choices(models, k=FIRST_REQUESTS + REQUESTS)
    subject = ProxySpec(rotation=Rotation.EVENKEEL, accounts=fleet_of_proxy)
    return asyncio.run(_answered(subject, asked, {"seed": seed, "latency": {"ttft_ms": ttft_ms}})) * MICROSECONDS


async def _answered(subject: ProxySpec, asked: Sequence[str], provider: dict[str, Any]) -> float:
    """Return how many seconds each of the requests took, without the first ones."""
    seconds = 0.0
    async with stack(Options(mock_settings=provider)) as ground, ground.proxy(subject) as proxy:
        headers = {"Authorization": f"Bearer {proxy.master_key}"}
        async with client(seconds=60, base_url=proxy.url, headers=headers) as sending:
            for number, model in enumerate(asked):
                body = {"model": model, "messages": [{"role": "user", "content": f"ahoy {number}"}]}
                began = time.perf_counter()
                answer = await sending.post("/v1/chat/completions", json=body)
                took = time.perf_counter() - began
                if answer.is_error:
                    what = f"The proxy answered {answer.status_code}: {answer.text[:300]}."
                    raise ProcessFailed(what, hint=f"See its log: {proxy.info.log}")
                if number >= FIRST_REQUESTS:
                    seconds += took
    return seconds / REQUESTS


async def _picked(
    router: AccountRouter, several: dict[str, list[dict[str, Any]]], asked: Sequence[str], first: int
) -> float:
    """Return how many seconds each of the picks took, without the first ones."""

    async def request(number: int, model: str) -> Any:
        # LiteLLM makes a new list for each request.
        candidates = list(several[model])
        began = time.perf_counter()
        found = await router.pick(model, candidates, MESSAGES, {"litellm_call_id": f"call-{number}"})
        took = time.perf_counter() - began
        assert isinstance(found, Pick)
        return {**ANSWER, "took": took}

    seconds = 0.0
    for number, model in enumerate(asked):
        # A task for each, whose end is the answer to it.
        answer = await asyncio.create_task(request(number, model))
        await asyncio.sleep(0)
        if number >= first:
            seconds += answer["took"]
    return seconds / (len(asked) - first)
