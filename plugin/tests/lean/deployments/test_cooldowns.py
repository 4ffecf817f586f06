"""Cooldowns that a real router reads: those of LiteLLM, with few keys looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from litellm.router_utils.cooldown_cache import CooldownCache
from litellm.router_utils.cooldown_handlers import async_get_cooldown_deployments
from litellm.router_utils.routing_read_batch import RoutingPrefetch
from litellm.types.router import Deployment

from litellm_evenkeel.lean.deployments.cooldowns import PREFIX, SUFFIX, interval, read_cooldowns_in_force

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Any]

# Warnings of LiteLLM's own, as its router is made.
pytestmark = pytest.mark.filterwarnings("ignore")
SOME = [str(number) for number in range(20)]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Redis:
    """A Redis that counts the keys that are read."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.read = 0

    async def async_batch_get_cache(self, keys: list[str], **_: Any) -> dict[str, Any]:
        self.read += len(keys)
        return {key: self.values.get(key) for key in keys}

    def set_cache(self, key: str, value: Any, **_: Any) -> None:
        self.values[key] = value


@pytest.fixture
def clock(unchanged: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Make the change. The clock is that of both LiteLLM and the change."""
    unchanged(CooldownCache)
    unchanged(RoutingPrefetch)
    clock = Clock()
    for module in ("caching.dual_cache", "caching.in_memory_cache", "router_utils.cooldown_cache"):
        monkeypatch.setattr(f"litellm.{module}.time", clock_module(clock))
    read_cooldowns_in_force(clock, clock)
    return clock


def clock_module(clock: Clock) -> Any:
    """Return a module `time` with another time."""
    return type("Time", (), {"time": staticmethod(clock), "monotonic": staticmethod(clock)})


@pytest.fixture
def with_redis(router: Make, deployment: Make) -> Make:
    """Return a function that makes a router, and its Redis."""

    def make(names: list[str] = SOME) -> tuple[Any, Redis]:
        routing, redis = router(*map(deployment, names)), Redis()
        routing.cache.redis_cache = redis
        return routing, redis

    return make


def cool_down(routing: Any, name: str, seconds: float) -> None:
    routing.cooldown_cache.add_deployment_to_cooldown(name, Exception("refused"), 429, seconds)


async def in_cooldown(routing: Any) -> list[str]:
    return list(await async_get_cooldown_deployments(litellm_router_instance=routing, parent_otel_span=None))


async def test_own_cooldowns_are_known_at_once_until_they_end(with_redis: Make, clock: Clock) -> None:
    routing, _ = with_redis()
    clock.now = 1000.0
    assert await in_cooldown(routing) == []
    cool_down(routing, "7", 5.0)
    cool_down(routing, "3", 60.0)
    assert await in_cooldown(routing) == ["3", "7"]
    clock.now += 10.0
    assert await in_cooldown(routing) == ["3"]


async def test_cooldowns_of_other_workers_are_read_once_in_an_interval(with_redis: Make, clock: Clock) -> None:
    routing, redis = with_redis()
    clock.now = 1000.0
    assert await in_cooldown(routing) == []
    assert redis.read == len(SOME)
    value = {"exception_received": "", "status_code": "429", "timestamp": clock.now, "cooldown_time": 30.0}
    redis.values[f"{PREFIX}5{SUFFIX}"] = value
    assert await in_cooldown(routing) == []
    assert redis.read == len(SOME)
    clock.now += interval(routing.cooldown_cache)
    assert [await in_cooldown(routing) for _ in range(3)] == [["5"]] * 3
    assert redis.read == 2 * len(SOME)


async def test_cooldowns_of_all_deployments_are_known(with_redis: Make, clock: Clock) -> None:
    """LiteLLM's memory has room for 200, as LiteLLM reads the others from Redis with each request."""
    names = [str(number) for number in range(300)]
    routing, redis = with_redis(names)
    clock.now = 1000.0
    value = {"exception_received": "", "status_code": "429", "timestamp": clock.now, "cooldown_time": 30.0}
    redis.values = {f"{PREFIX}{name}{SUFFIX}": value for name in names}
    assert [await in_cooldown(routing) for _ in range(2)] == [names, names]


async def test_a_new_deployment_is_read_at_once(with_redis: Make, deployment: Make, clock: Clock) -> None:
    routing, redis = with_redis()
    clock.now = 1000.0
    await in_cooldown(routing)
    value = {"exception_received": "", "status_code": "429", "timestamp": clock.now, "cooldown_time": 30.0}
    redis.values[f"{PREFIX}new{SUFFIX}"] = value
    routing.add_deployment(Deployment(**deployment("new")))
    assert await in_cooldown(routing) == ["new"]


async def test_cooldowns_are_not_prefetched_while_they_are_known(
    with_redis: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    armed = list[object]()
    monkeypatch.setattr(RoutingPrefetch, "arm", staticmethod(lambda *given: armed.append(given)))
    monkeypatch.setattr(CooldownCache, "async_get_active_cooldowns", CooldownCache.async_get_active_cooldowns)
    read_cooldowns_in_force(clock, clock)
    routing, _ = with_redis()
    clock.now = 1000.0
    RoutingPrefetch.arm(routing, None, [])
    assert len(armed) == 1
    await in_cooldown(routing)
    RoutingPrefetch.arm(routing, None, [])
    assert len(armed) == 1
    # A strategy that reads usage reads both in one command.
    RoutingPrefetch.arm(routing, object(), [])
    assert len(armed) == 2
