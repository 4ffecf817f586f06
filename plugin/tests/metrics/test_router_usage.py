"""Remaining limits by the router: read rarely and outside of events, and shown for all users of a group."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from litellm_evenkeel.metrics import router_usage
from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.metric_types import Gauge
from litellm_evenkeel.metrics.router_usage import GAUGES, POLL_SECONDS, RETRY_SECONDS, RemainingQuotaPoller

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from litellm_evenkeel.metrics.replay.event_facts import Raw

LABELS = ("hashed_api_key", "model_group")
REQUESTS, TOKENS = GAUGES


def event(key: str, group: str = "group", **headers: str) -> Raw:
    return {
        "model": "m",
        "standard_logging_object": {
            "model_group": group,
            "custom_llm_provider": "openai",
            "api_base": "http://base",
            "model_id": "id",
            "hidden_params": {"additional_headers": headers},
            "metadata": {"user_api_key_hash": key, "user_api_key_alias": None},
        },
    }


class World:
    def __init__(self) -> None:
        self.now, self.asked = 0.0, []
        self.usage: Mapping[str, Any] | None = {GAUGES[REQUESTS]: 7, GAUGES[TOKENS]: 70}
        self.registry = CollectorRegistry()
        store = MetricStore(self.registry)
        for name in GAUGES:
            Gauge(store, name, "Left.", LABELS)
        self.router = RemainingQuotaPoller(store.families, str, self._ask, lambda: self.now)

    async def _ask(self, group: str) -> Mapping[str, Any] | None:
        self.asked.append(group)
        if group == "hangs":
            await asyncio.sleep(60)
        return self.usage

    async def look(self) -> None:
        self.router.poll()
        if self.router._task is not None:
            await self.router._task

    def value(self, key: str, name: str = REQUESTS, group: str = "group") -> float | None:
        return self.registry.get_sample_value(name, {"hashed_api_key": key, "model_group": group})


async def test_all_who_used_a_group_are_told_whenever_they_did() -> None:
    world = World()
    world.router.observe(event("a"))
    await world.look()
    # Too soon to ask again; but he is not forgotten.
    world.router.observe(event("b"))
    await world.look()
    assert (world.asked, world.value("a"), world.value("b")) == (["group"], 7, None)
    world.now += POLL_SECONDS
    await world.look()
    assert (world.asked, world.value("b"), world.value("b", TOKENS)) == (["group"] * 2, 7, 70)


async def test_what_a_provider_has_said_itself_is_left_alone() -> None:
    world = World()
    world.router.observe(event("a", x_ratelimit_remaining_requests="3"))
    await world.look()
    assert (world.value("a"), world.value("a", TOKENS)) == (None, 70)
    world.router.observe(event("b", x_ratelimit_remaining_requests="3", x_ratelimit_remaining_tokens="4"))
    world.now += POLL_SECONDS
    await world.look()
    assert world.asked == ["group"]


async def test_a_group_of_which_nothing_is_said_is_asked_about_seldom() -> None:
    world = World()
    world.usage = None
    for _ in range(100):
        world.router.observe(event("a"))
        await world.look()
        world.now += POLL_SECONDS
    assert len(world.asked) == 1 + 99 * POLL_SECONDS // RETRY_SECONDS


async def test_a_router_that_hangs_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(router_usage, "TIMEOUT_SECONDS", 0.01)
    world = World()
    world.router.observe(event("a", "hangs"))
    world.router.observe(event("a"))
    await world.look()
    assert "could not read the remaining limits of a model group (TimeoutError)" in caplog.text
    assert world.value("a") == 7
