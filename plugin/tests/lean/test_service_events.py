"""Events about calls of Redis, with a service callback and without."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import litellm
import pytest
from litellm._service_logger import ServiceLogging
from litellm.caching import redis_batch, redis_cache
from litellm.types.services import ServiceTypes

from litellm_evenkeel.lean.service_events import skip_events_without_callbacks

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm.types.services import ServiceLoggerPayload


class Metrics:
    """A service callback that keeps the events it receives."""

    def __init__(self) -> None:
        self.events: list[ServiceLoggerPayload] = []

    async def async_service_success_hook(self, payload: ServiceLoggerPayload, **_: object) -> None:
        self.events.append(payload)


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return the function that makes the change, which is taken back after the test."""
    for module in (redis_cache, redis_batch):
        monkeypatch.setattr(module, "_get_call_stack_info", module._get_call_stack_info)
    hook = ServiceLogging.async_service_success_hook
    monkeypatch.setattr(ServiceLogging, "async_service_success_hook", hook)
    return skip_events_without_callbacks


async def reserve_budget() -> str:
    batch = redis_batch.RedisBatch(redis_cache=None)  # type: ignore[arg-type] # nothing is sent
    batch.delete("spend")
    return batch._pending[0].caller


async def authorize() -> str:
    return await reserve_budget()


def report() -> None:
    asyncio.run(ServiceLogging().async_service_success_hook(ServiceTypes.REDIS, "async_get_cache", 0.001))


def test_without_a_service_callback_the_call_stack_is_not_searched(change: Callable[[], None]) -> None:
    assert asyncio.run(authorize()) == "reserve_budget <- authorize"
    change()
    assert asyncio.run(authorize()) == "unknown"


def test_with_a_service_callback_the_callers_are_those_of_litellm(
    change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, "service_callback", ["prometheus_system"])
    change()
    assert asyncio.run(authorize()) == "reserve_budget <- authorize"


def test_a_service_callback_that_is_added_later_receives_events(
    change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change()
    metrics = Metrics()
    monkeypatch.setattr(ServiceLogging, "_resolve_otel_service_logger", lambda _self, _callback: metrics)
    monkeypatch.setattr(litellm, "service_callback", [])
    report()
    assert not metrics.events
    litellm.service_callback.append("otel")
    report()
    assert [event.call_type for event in metrics.events] == ["async_get_cache"]


def test_without_a_service_callback_no_event_is_validated(
    change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change()

    def refuse(**_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("litellm._service_logger.ServiceLoggerPayload", refuse)
    report()
