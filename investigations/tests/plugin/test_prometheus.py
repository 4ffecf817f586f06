"""The Prometheus callback on the installed LiteLLM: found as its own, made late, and never in a request's way."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import time
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import litellm
import pytest
from litellm.integrations.prometheus import PrometheusLogger
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.budgets import BudgetCounts, BudgetEntity, BudgetSettings, open_budgets
from litellm_evenkeel.metrics.callback import EvenkeelPrometheusLogger
from litellm_evenkeel.metrics.replay.failure_key import KEY_FIELDS
from litellm_evenkeel.metrics.request_phases import FIELDS
from litellm_evenkeel.metrics.settings import MetricsSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from litellm_evenkeel.budgets import BudgetCache, BudgetObservation, Listener, Peek
    from litellm_evenkeel.metrics.replay.event_facts import Raw

# LiteLLM warns of its own types, once for each.
pytestmark = pytest.mark.filterwarnings("ignore")

BEGAN = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as LiteLLM tells it
ENDED = BEGAN + timedelta(seconds=1)
ONE_BY_ONE = [f"{kind} {what}" for kind in ("team", "api_key", "user") for what in ("begins", "ends")]
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
    await callback.drain()


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


def test_no_hook_of_it_costs_a_request() -> None:
    assert not EXPENSIVE & set(vars(EvenkeelPrometheusLogger))


async def test_a_success_is_counted_by_a_plan_and_an_unusual_one_as_litellm_does(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    await told(callback, event(), event(0.25), event(0))
    assert (counted(registry, "litellm_requests_metric"), counted(registry, "litellm_spend_metric")) == (3, 0.75)
    assert counted(registry, "evenkeel_metrics_events") == 3
    with pytest.raises(TypeError):
        await told(callback, event(None))
    assert counted(registry, "litellm_requests_metric") == 4


async def test_phases_are_counted_if_litellm_measures_them(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITELLM_DETAILED_TIMING", "true")
    callback = EvenkeelPrometheusLogger(registry)
    stated = {"timing_pre_processing_ms": 20.0, "timing_llm_api_ms": 300.0, "timing_post_processing_ms": None}
    for response in (SimpleNamespace(_hidden_params=stated), SimpleNamespace(_hidden_params=None), None):
        await callback.async_log_success_event(event(), response, BEGAN, ENDED)
    # LiteLLM counts the whole of a stream as the time after the call.
    stream = event() | {"stream": True}
    await callback.async_log_success_event(stream, SimpleNamespace(_hidden_params=stated), BEGAN, ENDED)
    scraped = {
        (sample.labels["phase"], sample.name): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name.startswith("evenkeel_request_phase_seconds_") and "le" not in sample.labels
    }
    totals = {key: value for key, value in scraped.items() if key[1].endswith(("_sum", "_count"))}
    name = "evenkeel_request_phase_seconds"
    assert totals == {
        ("pre_processing", f"{name}_sum"): 0.02,
        ("pre_processing", f"{name}_count"): 1,
        ("provider", f"{name}_sum"): 0.3,
        ("provider", f"{name}_count"): 1,
    }


async def test_litellm_states_the_phases_of_a_response(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("litellm.litellm_core_utils.llm_response_utils.response_metadata")
    monkeypatch.setattr(module, "LITELLM_DETAILED_TIMING", True)
    rig.start()
    response = await rig.ask()
    assert set(FIELDS.values()) <= response._hidden_params.keys()


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
    await callback.drain()
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
    assert "got two that would both count" in caplog.text
    assert not list(registry.collect())


async def test_a_scrape_is_answered_even_if_this_workers_series_cannot_be_written(
    registry: CollectorRegistry, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "folder"
    folder.write_text("a file")
    callback = EvenkeelPrometheusLogger(registry, folder=folder)
    for _ in range(3):
        await told(callback, event())
    assert [one.message for one in caplog.records if "metrics could not be updated" in one.message] == [
        "evenkeel: this worker's metrics could not be updated (FileExistsError). Scrapes show old values meanwhile."
    ]
    # From when it can be made, it is.
    folder.unlink()
    await told(callback, event())
    assert len(list(folder.iterdir())) > 2


async def test_a_worker_that_ends_writes_what_it_counted_since_the_last_write(
    registry: CollectorRegistry, tmp_path: Path
) -> None:
    callback = EvenkeelPrometheusLogger(registry, folder=tmp_path)
    await callback.async_log_success_event(event(), None, BEGAN, ENDED)
    callback.write_final()
    together = CollectorRegistry()
    MultiProcessCollector(together, str(tmp_path))  # type: ignore[no-untyped-call]
    assert counted(together, "litellm_requests_metric") == 1


async def test_several_scrapes_at_once_leave_whole_files(registry: CollectorRegistry, tmp_path: Path) -> None:
    callback = EvenkeelPrometheusLogger(registry, folder=tmp_path)
    await told(callback, event())
    await asyncio.gather(*(callback.drain() for _ in range(10)))
    together = CollectorRegistry()
    MultiProcessCollector(together, str(tmp_path))  # type: ignore[no-untyped-call]
    assert counted(together, "litellm_requests_metric") == 1
    assert not list(tmp_path.glob("*.new"))


async def test_a_user_agent_takes_one_place_however_it_is_written(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry, MetricsSettings(max_user_agents=2))
    for agent in ('one "quoted"', "two", "three"):
        one = event()
        one["standard_logging_object"]["metadata"]["user_agent"] = agent
        await told(callback, one)
    scrape = generate_latest(registry).decode()
    assert [f'user_agent="{agent}"' in scrape for agent in ("two", "three", "other")] == [True, False, True]


async def test_budgets_that_nobody_sees_are_not_looked_up(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauges = ("remaining_team_budget_metric", "team_max_budget_metric", "team_budget_remaining_hours_metric")
    monkeypatch.setattr(litellm, "prometheus_exclude_metrics", [f"litellm_{name}" for name in gauges])
    seen: list[BudgetObservation] = []
    budgets = SimpleNamespace(
        observe=lambda hint, _: seen.append(hint),
        counts=lambda _: BudgetCounts({}, {}),
        call_on_warning=lambda _: None,
    )
    callback = EvenkeelPrometheusLogger(registry, open_budgets=lambda *_: budgets)  # type: ignore[arg-type]
    await told(callback, event())
    assert {hint.kind for hint in seen} == {BudgetEntity.KEY, BudgetEntity.USER}


async def test_a_providers_budget_that_nobody_knows_is_not_there(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    for provider, spend, limit in (("a", 1.0, 3.0), ("b", None, 3.0), ("c", 1.0, None)):
        callback.track_provider_remaining_budget(provider, spend, limit)
    name = "litellm_provider_remaining_budget_metric"
    assert [registry.get_sample_value(name, {"api_provider": one}) for one in "abc"] == [2.0, None, None]


async def test_a_providers_budget_is_one_that_is_known(registry: CollectorRegistry) -> None:
    def budgets(listener: Listener, peek: Peek) -> BudgetCache:
        return open_budgets(BudgetSettings(), time.time, listener=listener, peek=peek)

    callback = EvenkeelPrometheusLogger(registry, open_budgets=budgets)
    callback.track_provider_remaining_budget("openai", 1.0, 3.0)
    counts = callback.budget_counts()
    assert counts is not None
    assert counts.kinds[BudgetEntity.PROVIDER].known == 1


async def settled(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0)


NO_MODEL = litellm.BadRequestError("no", llm_provider="", model="m")


async def refused(callback: EvenkeelPrometheusLogger, **request: Any) -> None:
    key = SimpleNamespace(**dict.fromkeys(KEY_FIELDS), end_user_id=None)
    with contextlib.suppress(AttributeError):
        await callback.async_post_call_failure_hook({"model": "m", **request}, NO_MODEL, key)


async def test_one_failure_that_litellm_cannot_count_hides_no_other(registry: CollectorRegistry) -> None:
    callback = EvenkeelPrometheusLogger(registry)
    await refused(callback, model_info=None)
    for _ in range(10):
        await refused(callback)
    await refused(callback, model_info=None)
    await callback.drain()
    assert counted(registry, "litellm_proxy_failed_requests_metric") == 10


@pytest.mark.skipif(not hasattr(litellm, "prometheus_emit_input_sequence_length_label"), reason="an older LiteLLM")
async def test_prompts_of_all_lengths_are_counted_by_one_plan(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, "prometheus_emit_input_sequence_length_label", True)
    callback = EvenkeelPrometheusLogger(registry)
    lengths = (1, 3_000, 200_000)
    await told(callback, *[event(prompt_tokens=number) for number in lengths for _ in range(5)])
    outcomes = {
        sample.labels["outcome"]: sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "evenkeel_metrics_events_total"
    }
    assert outcomes == {"success": 15}
    classes = {
        sample.labels["input_sequence_length"]: sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "litellm_request_total_latency_metric_count"
    }
    assert sorted(classes.values()) == [5, 5, 5]


@pytest.mark.skipif(not hasattr(litellm, "prometheus_metrics_ttl_seconds"), reason="an older LiteLLM")
@pytest.mark.parametrize("interval", [0, None])
async def test_without_an_interval_silent_series_go_as_soon_as_they_may(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch, interval: int | None
) -> None:
    monkeypatch.setattr(litellm, "prometheus_metrics_ttl_seconds", 0.05)
    monkeypatch.setattr(litellm, "prometheus_metrics_cleanup_interval_seconds", interval)
    callback = EvenkeelPrometheusLogger(registry)
    await told(callback, event())
    await asyncio.sleep(0.1)
    # As with LiteLLM's own, what was silent begins anew.
    await told(callback, event(), event())
    assert counted(registry, "litellm_requests_metric") == 2


@pytest.mark.skipif(not hasattr(litellm, "prometheus_metrics_max_series_per_metric"), reason="an older LiteLLM")
async def test_workers_share_the_places_of_a_metric_as_litellms_own_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(litellm, "prometheus_metrics_max_series_per_metric", 2)
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    workers = [EvenkeelPrometheusLogger(CollectorRegistry(), folder=tmp_path) for _ in range(2)]
    for worker, groups in zip(workers, ("ab", "cb"), strict=True):
        await told(worker, *[event(model_group=group) for group in groups])
    together = CollectorRegistry()
    MultiProcessCollector(together, str(tmp_path))  # type: ignore[no-untyped-call]
    by_group = {
        sample.labels["requested_model"]: sample.value
        for family in together.collect()
        for sample in family.samples
        if sample.name == "litellm_proxy_total_requests_metric_total"
    }
    assert by_group == {"a": 1, "b": 2, "other": 1}


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("prometheus_latency_buckets", [2.0, 1.0], "Buckets not in sorted order"),
        ("prometheus_latency_buckets", [], "Must have at least two buckets"),
        ("custom_prometheus_metadata_labels", ["le"], "Reserved label"),
    ],
)
async def test_settings_that_litellm_refuses_are_refused_in_its_words(
    registry: CollectorRegistry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    setting: str,
    value: list[Any],
    words: str,
) -> None:
    monkeypatch.setattr(litellm, setting, value)
    await told(EvenkeelPrometheusLogger(registry), event())
    assert words in caplog.text
    assert not list(registry.collect())
