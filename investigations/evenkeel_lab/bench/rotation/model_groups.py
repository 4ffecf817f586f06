"""Cost of a pick with many model groups, and of a whole request.

Picks are measured without a proxy, requests by the only client of a proxy, one after the other.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import ProcessFailed
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm.accounts import unlimited_accounts
from evenkeel_lab.stack.litellm.config import MODEL, ProxySpec, Rotation
from evenkeel_lab.stack.stack import Options, stack
from litellm_evenkeel.rotation.account_router import AccountRouter
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.observer import Observer
from litellm_evenkeel.rotation.pool import candidate_cache
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

PICKS, WARM_UP_SHARE = 4_000, 0.25
REQUESTS, FIRST_REQUESTS = 300, 150
MICROSECONDS, KIB = 1e6, 1024
MESSAGES = [{"role": "user", "content": "ahoy"}]
ANSWER: dict[str, Any] = {"usage": {"prompt_tokens": 50, "completion_tokens": 30}, "_hidden_params": {}}


def pick(
    seed: int,
    *,
    groups: int = 3,
    accounts: int = 3,
    cached: bool = True,
    picks: int = PICKS,
    changes_every: int = 0,
) -> float:
    """Return the microseconds of a pick; each request is for a random group.

    `changes_every` is the number of picks of a group after which one of its deployments is replaced; 0: never.
    """
    by_group = _deployments(accounts, groups)
    chance = random.Random(seed)
    router = unwatched(RotationSettings(), chance)
    if not cached:
        router.candidates.lookup = router.candidates.resolve  # type: ignore[method-assign]
    first = int(picks * WARM_UP_SHARE)
    requested = chance.choices(list(by_group), k=first + picks)
    return asyncio.run(_seconds_per_pick(router, by_group, requested, first, changes_every)) * MICROSECONDS


def _deployments(accounts: int, groups: int) -> dict[str, list[dict[str, Any]]]:
    by_group: dict[str, list[dict[str, Any]]] = {}
    for account in unlimited_accounts(accounts, groups):
        by_group.setdefault(account.group or MODEL, []).append(account.deployment(MODEL, "http://127.0.0.1:9/v1"))
    return by_group


def remembered(seed: int, *, groups: int = 3, accounts: int = 3) -> float:
    """Return the KiB that the cache of candidate sets has allocated after a pick from each group."""
    by_group = _deployments(accounts, groups)
    router = unwatched(RotationSettings(), random.Random(seed))
    tracemalloc.start()
    try:
        asyncio.run(_seconds_per_pick(router, by_group, list(by_group), 0, 0))
        gc.collect()
        snapshot = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    own = snapshot.filter_traces([tracemalloc.Filter(inclusive=True, filename_pattern=candidate_cache.__file__)])
    return sum(statistic.size for statistic in own.statistics("filename")) / KIB


def saved(seed: int, *, groups: int = 3, accounts: int = 3) -> float:
    """Return the microseconds that the cache of candidate sets saves per pick."""
    cached, uncached = (pick(seed, groups=groups, accounts=accounts, cached=is_on) for is_on in (True, False))
    return uncached - cached


def unwatched(settings: RotationSettings, chance: random.Random) -> AccountRouter:
    """Return a rotation without a proxy and without an observer."""
    return AccountRouter(
        settings,
        clock=time.monotonic,
        random=chance.random,
        spec=lambda deployment, model: DeploymentSpec.from_litellm(deployment, {}, model),
        observer=Observer(),
    )


def request(seed: int, *, groups: int = 3, accounts: int = 3, ttft_ms: float = 10.0) -> float:
    """Return the microseconds of a request through a proxy; each request is for a random group."""
    all_accounts = unlimited_accounts(accounts, groups)
    # A wildcard group is requested by one of its models.
    models = sorted({account.group.replace("*", "chat") or MODEL for account in all_accounts})
    requested = random.Random(seed).choices(models, k=FIRST_REQUESTS + REQUESTS)
    subject = ProxySpec(rotation=Rotation.EVENKEEL, accounts=all_accounts)
    provider = {"seed": seed, "latency": {"ttft_ms": ttft_ms}}
    return asyncio.run(_seconds_per_request(subject, requested, provider)) * MICROSECONDS


async def _seconds_per_request(subject: ProxySpec, requested: Sequence[str], provider: dict[str, Any]) -> float:
    """Return the mean seconds of a request, without the first ones."""
    seconds = 0.0
    async with stack(Options(mock_settings=provider)) as ground, ground.proxy(subject) as proxy:
        headers = {"Authorization": f"Bearer {proxy.master_key}"}
        async with client(seconds=60, base_url=proxy.url, headers=headers) as sending:
            for number, model in enumerate(requested):
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


async def _seconds_per_pick(
    router: AccountRouter,
    by_group: dict[str, list[dict[str, Any]]],
    requested: Sequence[str],
    first: int,
    changes_every: int,
) -> float:
    """Return the mean seconds of a pick, without the first ones."""

    async def request(number: int, model: str) -> Any:
        # LiteLLM makes a new list for each request.
        candidates = list(by_group[model])
        began = time.perf_counter()
        picked = await router.pick(model, candidates, MESSAGES, {"litellm_call_id": f"call-{number}"})
        took = time.perf_counter() - began
        assert isinstance(picked, Pick)
        return {**ANSWER, "took": took}

    seconds, picked_of = 0.0, Counter[str]()
    for number, model in enumerate(requested):
        picked_of[model] += 1
        if changes_every and picked_of[model] % changes_every == 0:
            by_group[model] = _with_another(by_group[model], number)
        # The end of a request's task is the end of the request.
        answer = await asyncio.create_task(request(number, model))
        await asyncio.sleep(0)
        if number >= first:
            seconds += answer["took"]
    return seconds / (len(requested) - first)


def _with_another(deployments: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Return the deployments with a new one in place of the first."""
    first = deployments[0]
    about = first["model_info"] | {"id": f"deployment-{number}", "account": f"account-{number}"}
    return [first | {"model_info": about}, *deployments[1:]]
