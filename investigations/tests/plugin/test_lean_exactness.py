"""Admissions and spend of a proxy with the lean callback, compared with LiteLLM's own. Slow: both are real proxies."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg
import httpx
import pytest
from redis.asyncio import Redis

from evenkeel_lab.stack.litellm.config import MODEL, ProxySpec, merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.stack import Stack

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

LEAN = {"litellm_settings": {"callbacks": ["litellm_evenkeel.proxy.lean"]}}
# Seconds for which a worker may rely on its cache of a key.
KEY_TTL = 2
SETTINGS = {
    "general_settings": {
        "user_api_key_cache_ttl": KEY_TTL,
        "proxy_batch_write_at": 1,
        "proxy_budget_rescheduler_min_time": 1,
        "proxy_budget_rescheduler_max_time": 2,
    }
}
KEYS_AT_ONCE = 20
SETTLED_SECONDS, POLL_SECONDS = 60.0, 0.05
# A minute may end between two requests of a key that has a limit for each minute.
UNUSUAL_SHARE = 0.03
# In dollars. Requests cost the same, so sums differ by a whole request, or by rounding.
ROUNDING = 1e-9
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "ahoy"}], "max_tokens": 16}
COSTS = """
SELECT (SELECT coalesce(sum(spend), 0) FROM "LiteLLM_SpendLogs" WHERE api_key = $1),
    (SELECT coalesce(sum(spend), 0) FROM "LiteLLM_DailyUserSpend" WHERE api_key = $1)
"""


@dataclass(frozen=True)
class Life:
    """A key: requests with it, then a change, then requests again. Budgets are numbers of requests."""

    before: int
    key: Mapping[str, Any] = field(default_factory=dict)
    route: str = ""
    """Route of the change, if an administrator makes one."""
    change: Mapping[str, Any] = field(default_factory=dict)
    after: int = 0
    pause: float = KEY_TTL + 1.0
    """Seconds between the change and the next request."""
    gap: float = 0.0
    """Seconds after each request."""
    team: Mapping[str, Any] = field(default_factory=dict)
    """The key's team, if it has one."""
    is_burst: bool = False
    """Whether the requests after the pause are sent at once."""


# A budget of 3.5 requests admits three requests and, as it is then not spent, a fourth.
BUDGET = {"max_budget": 3.5}
LIVES = {
    "no limit": Life(12),
    "metadata": Life(6, {"metadata": {"color": "blue"}}),
    "a budget": Life(8, BUDGET),
    "a higher budget": Life(6, BUDGET, "/key/update", {"max_budget": 6.5}, 6),
    # Long enough for six requests to a proxy that has just been booted.
    "a budget that starts again": Life(6, {**BUDGET, "budget_duration": "60s"}, after=6, pause=75.0),
    "few requests in a minute": Life(8, {"rpm_limit": 5}),
    "fewer requests in a minute": Life(4, {}, "/key/update", {"rpm_limit": 5}, 8),
    # LiteLLM reserves tokens, and gives back those that were not used after the response.
    "few tokens in a minute": Life(8, {"tpm_limit": 60}, gap=1.0),
    "deleted": Life(4, {}, "/key/delete", {}, 4),
    "blocked": Life(4, {}, "/key/block", {}, 4),
    "other models": Life(4, {}, "/key/update", {"models": ["another"]}, 4),
    "expired": Life(0, {"duration": "1s"}, after=3),
}
BURSTS = {
    "a burst on a budget": Life(3, {"max_budget": 9.5}, after=30, is_burst=True),
    "a burst on a budget of a team": Life(3, team={"max_budget": 9.5}, after=30, is_burst=True),
    "a burst on a used-up budget": Life(5, BUDGET, after=30, is_burst=True),
}
# Redis loses the counters meanwhile, and the requests of the burst read them from the database.
LOST = 65.0
AFTER_LOSS = {f"{name}, lost": replace(life, pause=LOST) for name, life in BURSTS.items()}
ALL_LIVES = {**LIVES, **BURSTS, **AFTER_LOSS}
assert len(ALL_LIVES) == len(LIVES) + len(BURSTS) + len(AFTER_LOSS), "two lives have the same name"
REQUESTS = sum(life.before + life.after for life in LIVES.values())


class Outcome(NamedTuple):
    """Results of the requests with a key."""

    life: str
    statuses: tuple[int, ...]
    costs: tuple[float, ...]
    """Spend of the key in requests, by the spend logs and by the daily rows."""


class Client:
    """An administrator of a proxy, who makes keys and asks with them. Each request may go to another worker."""

    def __init__(self, proxy: Proxy, http: httpx.AsyncClient, redis: Redis) -> None:
        self._proxy, self._http, self._redis = proxy, http, redis
        self._cost = 0.0

    async def learn_cost(self) -> None:
        """Learn what a request costs."""
        response = await self._ask(self._proxy.master_key)
        self._cost = float(response.headers["x-litellm-response-cost"])
        assert self._cost > 0

    async def live(self, name: str) -> tuple[str, str, tuple[int, ...]]:
        """Make a key and its requests. Return the name of its life, its hash and the statuses."""
        life = ALL_LIVES[name]
        team = {"team_id": (await self._change("/team/new", life.team))["team_id"]} if life.team else {}
        key = (await self._change("/key/generate", {**life.key, **team}))["key"]
        statuses = await self._ask_often(key, life.before, life)
        if life.route:
            named = {"keys": [key]} if life.route == "/key/delete" else {"key": key}
            await self._change(life.route, {**named, **life.change})
        if life.after:
            await asyncio.sleep(life.pause)
            if life.is_burst:
                statuses += sorted(await asyncio.gather(*(self._status(key) for _ in range(life.after))))
            else:
                statuses += await self._ask_often(key, life.after, life)
        return name, sha256(key.encode()).hexdigest(), tuple(statuses)

    async def costs(self, key: str, admitted: int) -> tuple[float, ...]:
        """Return what a key has spent in requests, once the tables have its requests."""
        until = time.monotonic() + SETTLED_SECONDS
        database = await asyncpg.connect(self._proxy.services.database_url)
        try:
            while True:
                sums = tuple(await database.fetchrow(COSTS, key))
                if all(abs(spend - admitted * self._cost) < ROUNDING for spend in sums) or time.monotonic() > until:
                    return tuple(round(spend / self._cost, 6) for spend in sums)
                await asyncio.sleep(POLL_SECONDS)
        finally:
            await database.close()

    async def _ask_often(self, key: str, times: int, life: Life) -> list[int]:
        counter = f"spend:key:{sha256(key.encode()).hexdigest()}"
        statuses = []
        for _ in range(times):
            before = await self._spent(counter)
            response = await self._ask(key)
            statuses.append(response.status_code)
            await asyncio.sleep(life.gap)
            if response.is_success and "max_budget" in life.key:
                await self._until_counted(counter, before + self._cost)
        return statuses

    async def _spent(self, counter: str) -> float:
        return float(await self._redis.get(counter) or 0.0)

    async def _until_counted(self, counter: str, spend: float) -> None:
        """Wait until the workers know what has been spent, which they learn after the response."""
        until = time.monotonic() + SETTLED_SECONDS
        while abs(await self._spent(counter) - spend) > ROUNDING and time.monotonic() < until:
            await asyncio.sleep(POLL_SECONDS)

    async def _status(self, key: str) -> int:
        return (await self._ask(key)).status_code

    async def _ask(self, key: str) -> httpx.Response:
        return await self._post("/v1/chat/completions", key, BODY)

    async def _change(self, route: str, fields: Mapping[str, Any]) -> Any:
        budget = {"max_budget": fields["max_budget"] * self._cost} if "max_budget" in fields else {}
        response = await self._post(route, self._proxy.master_key, {**fields, **budget})
        assert response.is_success, response.text
        return response.json()

    async def _post(self, route: str, key: str, body: Mapping[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return await self._http.post(f"{self._proxy.url}{route}", json=body, headers=headers)


async def outcomes(
    below: Stack, settings: Mapping[str, Any], *, workers: int, copies: int, lives: Sequence[str] = tuple(LIVES)
) -> Counter[Outcome]:
    """Run each life with some keys of a proxy, and count the outcomes."""
    spec = ProxySpec(workers=workers, settings=merged(SETTINGS, settings))
    # A new connection for each request, which any worker may accept.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with (
        below.proxy(spec, database_number=1) as proxy,
        httpx.AsyncClient(limits=limits, timeout=SETTLED_SECONDS) as http,
        Redis.from_url(proxy.services.redis_url) as redis,
    ):
        client, free = Client(proxy, http, redis), asyncio.Semaphore(KEYS_AT_ONCE)
        await client.learn_cost()

        async def outcome(name: str) -> Outcome:
            async with free:
                life, key, statuses = await client.live(name)
            return Outcome(life, statuses, await client.costs(key, statuses.count(200)))

        return Counter(await asyncio.gather(*map(outcome, [*lives] * copies)))


def usual(counted: Counter[Outcome]) -> dict[str, Outcome]:
    """Return the usual outcome of each life, which nearly all of its keys have. Each has spent what was admitted."""
    most: dict[str, Outcome] = {}
    for outcome, _ in counted.most_common():
        most.setdefault(outcome.life, outcome)
    unusual = counted.total() - sum(counted[outcome] for outcome in most.values())
    assert unusual <= UNUSUAL_SHARE * counted.total(), counted
    for outcome in counted:
        admitted = outcome.statuses.count(200)
        assert outcome.costs == (admitted, admitted), outcome
    return most


@pytest.mark.parametrize(("workers", "copies"), [(2, 3), (4, 10_000 // REQUESTS + 1)])
async def test_admissions_and_spend_are_those_of_litellm(below: Stack, workers: int, copies: int) -> None:
    expected = usual(await outcomes(below, {}, workers=workers, copies=copies))
    assert len(expected) == len(LIVES)
    assert usual(await outcomes(below, LEAN, workers=workers, copies=copies)) == expected


def admitted(counted: Counter[Outcome], life: str) -> list[int]:
    """Return how many requests of each burst were admitted. Each key has spent what was admitted."""
    numbers = []
    for outcome in counted.elements():
        if outcome.life == life:
            total = outcome.statuses.count(200)
            assert outcome.costs == (total, total), outcome
            numbers.append(total)
    return sorted(numbers)


async def test_a_burst_on_lost_counters_is_admitted_as_litellm_admits_one_on_known_counters(below: Stack) -> None:
    """Requests that come at once reserve what they may cost at most, so that a budget admits fewer of them at once.

    LiteLLM alone lets them pass one by one if the counters are lost: some are over before others reserve.
    """
    known = await outcomes(below, {}, workers=2, copies=6, lives=tuple(BURSTS))
    lost = await outcomes(below, LEAN, workers=2, copies=6, lives=tuple(AFTER_LOSS))
    for life, after_loss in zip(BURSTS, AFTER_LOSS, strict=True):
        expected, numbers = admitted(known, life), admitted(lost, after_loss)
        assert all(expected[0] - 1 <= number <= expected[-1] + 1 for number in numbers), (life, expected, numbers)
