"""The Prometheus callback on the installed LiteLLM: found as its own, made late, and never in a request's way."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.integrations.prometheus import PrometheusLogger
from prometheus_client import CollectorRegistry, generate_latest

from litellm_evenkeel.metrics.ablation import AblatedPrometheusLogger
from litellm_evenkeel.metrics.callback import EvenkeelPrometheusLogger
from litellm_evenkeel.metrics.terms import Ablation, MetricsTerms

if TYPE_CHECKING:
    from litellm_evenkeel.metrics.facts import Raw

# LiteLLM warns of its own types, once for each.
pytestmark = pytest.mark.filterwarnings("ignore")

BEGAN = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as LiteLLM tells it
ENDED = BEGAN + timedelta(seconds=1)
# What LiteLLM looks for on the very class of a callback, and then does for every request.
EXPENSIVE = {
    "async_pre_call_hook",
    "async_post_call_response_headers_hook",
    "async_post_call_streaming_iterator_hook",
    "async_moderation_hook",
    "apply_guardrail",
}


def event(cost: Any = 0.5, **more: Any) -> Raw:
    metadata = {
        "user_api_key_user_id": "user",
        "user_api_key_hash": "hash",
        "user_api_key_alias": "alias",
        "user_api_key_team_id": "team",
        "user_api_key_team_alias": None,
        "user_api_key_user_email": None,
        "requester_ip_address": "127.0.0.1",
    }
    return {
        "model": "gpt-4o",
        "start_time": BEGAN,
        "api_call_start_time": BEGAN,
        "completion_start_time": ENDED,
        "end_time": ENDED,
        "litellm_params": {"metadata": {"model_info": {"id": "id"}}, "custom_llm_provider": "openai"},
        "standard_logging_object": {
            "metadata": metadata,
            "response_cost": cost,
            "total_tokens": 3,
            "prompt_tokens": 1,
            "completion_tokens": 2,
            "model_group": "group",
            "model_id": "id",
            "api_base": "http://base",
            "custom_llm_provider": "openai",
            "request_tags": [],
            "hidden_params": {"additional_headers": {}, "litellm_overhead_time_ms": 1.0},
            **more,
        },
    }


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


async def told(callback: EvenkeelPrometheusLogger, *events: Raw) -> None:
    for one in events:
        await callback.async_log_success_event(one, None, BEGAN, ENDED)
    await callback.drained()


def counted(registry: CollectorRegistry, name: str) -> float:
    return sum(
        sample.value for family in registry.collect() for sample in family.samples if sample.name == f"{name}_total"
    )


def test_litellm_finds_it_as_its_own(registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    monkeypatch.setattr(litellm, "callbacks", [callback])
    assert PrometheusLogger.get_instance() is callback


def test_nothing_is_made_before_it_is_needed(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    # LiteLLM looks at callbacks in these ways when it registers them.
    assert [hasattr(callback, name) for name in ("__name__", "__func__", "message_logging")] == [False, False, False]
    assert not any(isinstance(value, str | bool | int) for name, value in vars(callback).items() if name[0] != "_")
    assert not list(registry.collect())
    assert callback.litellm_requests_metric.name == "litellm_requests_metric"
    assert len(list(registry.collect())) > 50


@pytest.mark.parametrize("kind", [EvenkeelPrometheusLogger, AblatedPrometheusLogger])
def test_no_hook_of_it_costs_a_request(kind: type) -> None:
    assert not EXPENSIVE & set(vars(kind))


async def test_a_success_is_counted_by_a_plan_and_an_unusual_one_as_litellm_does(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    await told(callback, event(), event(0.25), event(0))
    assert (counted(registry, "litellm_requests_metric"), counted(registry, "litellm_spend_metric")) == (3, 0.75)
    assert counted(registry, "evenkeel_metrics_events") == 3
    with pytest.raises(TypeError):
        await told(callback, event(None))
    assert counted(registry, "litellm_requests_metric") == 4


async def test_settings_that_come_after_it_count(registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    monkeypatch.setattr(litellm, "prometheus_exclude_labels", ["client_ip"])
    monkeypatch.setattr(litellm, "prometheus_exclude_metrics", ["litellm_spend_metric"])
    await told(callback, event())
    scrape = generate_latest(registry).decode()
    assert ('client_ip="' in scrape, "litellm_spend_metric" in scrape) == (False, False)
    assert 'litellm_requests_metric_total{api_key_alias="alias"' in scrape


async def test_failures_that_are_alike_cost_litellms_code_once(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    failed = {**event(), "exception": litellm.RateLimitError("no", llm_provider="openai", model="gpt-4o")}
    for _ in range(5):
        await callback.async_log_failure_event(failed, None, BEGAN, ENDED)
    await callback.drained()
    assert counted(registry, "litellm_llm_api_failed_requests_metric") == 5
    assert counted(registry, "litellm_deployment_failure_responses") == 5


async def test_settings_that_cannot_be_are_told_once_and_requests_go_on(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(litellm, "prometheus_metrics_config", [{"group": "mine", "metrics": ["no_such_metric"]}])
    callback = EvenkeelPrometheusLogger(registry)
    await told(callback, event(), event())
    await callback.async_log_failure_event(event(), None, BEGAN, ENDED)
    callback.increment_deployment_cooled_down("a", "b", "c", "d", "429")
    callback.track_provider_remaining_budget("openai", 1.0, 2.0)
    assert [record.levelno for record in caplog.records if "no Prometheus metrics" in record.message] == [
        logging.CRITICAL
    ]
    assert not list(registry.collect())


async def test_beside_another_it_counts_nothing(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(litellm, "success_callback", ["prometheus"])
    await told(EvenkeelPrometheusLogger(registry), event())
    assert "Another Prometheus callback" in caplog.text
    assert not list(registry.collect())


async def test_a_providers_budget_that_nobody_knows_is_not_there(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    for provider, spend, limit in (("a", 1.0, 3.0), ("b", None, 3.0), ("c", 1.0, None)):
        callback.track_provider_remaining_budget(provider, spend, limit)
    name = "litellm_provider_remaining_budget_metric"
    assert [registry.get_sample_value(name, {"api_provider": one}) for one in "abc"] == [2.0, None, None]


@pytest.mark.parametrize("ablation", [one for one in Ablation if one is not Ablation.OFF])
async def test_no_ablation_is_silent(
    ablation: Ablation, registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    callback = AblatedPrometheusLogger(registry, MetricsTerms(ablation=ablation))
    assert f"metrics.ablation is {ablation}" in caplog.text
    await told(callback, event())
    assert registry.get_sample_value("evenkeel_metrics_ablation", {"mode": ablation}) == 1
    skips = ablation in {Ablation.EARLY_RETURN, Ablation.SKIP_UPDATES}
    assert counted(registry, "litellm_requests_metric") == (0 if skips else 1)
