"""Cooldowns, of which only those in force are read with each request.

To learn which deployments are in cooldown, LiteLLM looks for a cooldown of every deployment of all models with each
request: in its memory, and once in a second in Redis, where other workers put theirs. It remembers for a thousand keys
when it has read them. With more deployments than that, each request reads all of them from Redis.

Its memory has room for 200 cooldowns. What is not read from Redis with each request needs room for all of them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from litellm.router_utils.cooldown_cache import CooldownCache
from litellm.router_utils.routing_read_batch import RoutingPrefetch

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX, SUFFIX = "deployment:", ":cooldown"


class LastRead:
    """The last time at which the cooldowns of all deployments were read from Redis."""

    def __init__(self) -> None:
        self.positions: dict[str, int] = {}
        self._ids: list[str] = []
        self._next_at = 0.0

    def covers(self, ids: list[str], now: float) -> bool:
        """Return whether the last read was of these deployments, and is not due again."""
        return now < self._next_at and self._ids == ids

    def begin(self, ids: list[str], next_at: float) -> None:
        """Note that cooldowns are being read."""
        if self._ids != ids:
            self._ids, self.positions = ids, {model_id: position for position, model_id in enumerate(ids)}
        self._next_at = next_at


def read_cooldowns_in_force(clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
    """Make LiteLLM look through the cooldowns in its memory, and read those of all deployments once in an interval."""
    reads: WeakKeyDictionary[Any, LastRead] = WeakKeyDictionary()
    original, arm = CooldownCache.async_get_active_cooldowns, RoutingPrefetch.arm
    # LiteLLM since 1.110 lacks this method: it reads cooldowns in Rust.
    still_in_force = CooldownCache._corrected_active_cooldown  # noqa: SLF001 - it has no public name

    async def active_cooldowns(self: Any, model_ids: list[str], parent_otel_span: Any) -> list[tuple[str, Any]]:
        last = reads.get(self) or reads.setdefault(self, LastRead())
        now = clock()
        if last.covers(model_ids, now):
            return [
                (model_id, in_force)
                for model_id, key, value in in_memory(self.in_memory_cache, last.positions)
                if (in_force := still_in_force(self, key, value, wall())) is not None
            ]
        _begin_read(last, self, model_ids, now)
        active: list[tuple[str, Any]] = await original(self, model_ids, parent_otel_span)
        return active

    def arm_if_due(router: Any, usage_selector: Any, deployments: list[Any]) -> None:
        if hasattr(router, "registry"):
            # LiteLLM since 1.109.
            cooldowns, ids = router.health().cooldowns, router.registry().names(kind="ids")
        else:
            cooldowns, ids = router.cooldown_cache, router.get_model_ids()
        last, now = reads.get(cooldowns) or reads.setdefault(cooldowns, LastRead()), clock()
        # A strategy that reads the usage of deployments reads the cooldowns in the same command.
        if usage_selector is None and last.covers(ids, now):
            return
        was_armed = RoutingPrefetch.armed()
        arm(router, usage_selector, deployments)
        if RoutingPrefetch.armed() and not was_armed:
            _begin_read(last, cooldowns, ids, now)

    CooldownCache.async_get_active_cooldowns = active_cooldowns
    RoutingPrefetch.arm = staticmethod(arm_if_due)


def _begin_read(last: LastRead, cooldowns: Any, ids: list[str], now: float) -> None:
    """Note that the cooldowns of these deployments are being read, and make room for them in LiteLLM's memory."""
    memory = cooldowns.in_memory_cache
    memory.max_size_in_memory = max(memory.max_size_in_memory, len(ids))
    last.begin(ids, now + interval(cooldowns))


def interval(cooldowns: Any) -> float:
    """Return the seconds after which LiteLLM reads a cooldown from Redis again."""
    return float(cooldowns.cooldown_store.redis_batch_cache_expiry)


def in_memory(memory: Any, positions: dict[str, int]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the deployments, keys and values of the cooldowns in LiteLLM's memory, in the order of the deployments."""
    cooldowns = []
    for key in list(memory.cache_dict):
        model_id = key.removeprefix(PREFIX).removesuffix(SUFFIX)
        # It removes what has expired.
        value = memory.get_cache(key) if model_id in positions else None
        if isinstance(value, dict):
            cooldowns.append((model_id, key, value))
    return sorted(cooldowns, key=lambda each: positions[each[0]])
