"""LiteLLM's Prometheus callback, with other families beneath it, and with plans in place of most of its work."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations import prometheus as stock
from litellm.integrations.prometheus import (
    PrometheusLogger,
    _get_combined_custom_metadata_from_standard_logging_payload as combined_metadata,
)
from prometheus_client import REGISTRY, Counter, Gauge, Histogram

from litellm_evenkeel.metrics import failures, families
from litellm_evenkeel.metrics.cardinality import Bounds
from litellm_evenkeel.metrics.facts import Raw, Readers
from litellm_evenkeel.metrics.series import Series
from litellm_evenkeel.metrics.watching import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from datetime import datetime

    from prometheus_client import CollectorRegistry

LOG = logging.getLogger("litellm_evenkeel.metrics")
OURS = {Counter: families.Counter, Gauge: families.Gauge, Histogram: families.Histogram}
STOCK = "prometheus"
# What LiteLLM's methods read of what its constructor makes.
MADE = ("litellm_", "label_filters", "exclude_", "latency_buckets", "_cached_metric_labels", "_series")


# LiteLLM has no types.
class EvenkeelPrometheusLogger(PrometheusLogger):  # type: ignore[misc]
    """The callback. LiteLLM finds it as its own, by its class; its series are made when they are first needed.

    By then all of LiteLLM's settings are there: it sets them in the order of the YAML, and reads some only once.
    """

    # No attribute that is text or a number, and public: LiteLLM tells callbacks apart by these.
    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._registry = registry
        self._making = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        """Make the series when one of them is asked for."""
        if not name.startswith(MADE) or "_store" in vars(self):
            raise AttributeError(name)
        with self._making:
            if "_store" not in vars(self):
                self._make()
        return getattr(self, name)

    def _make(self) -> None:
        bounds = Bounds(time.monotonic)
        self._store = families.Store(self._registry, bounds.told)
        bounds.retired = lambda name, value: self._store.retire(name, str(stock.sanitize_prometheus_label_value(value)))
        super().__init__()
        self._readers = _readers(self, bounds)
        self._series = Series(
            self._store, self._readers, stock.sanitize_prometheus_label_value, self._watched, clock=time.monotonic
        )

    def _create_metric_factory(self, metric_class: Any, *args: Any, **kwargs: Any) -> Any:
        """Have LiteLLM make families of ours."""
        limits = getattr(self, "_series_limits", None)
        if limits is not None and limits.enabled:
            self._series_limits = dataclasses.replace(limits, max_series=None, ttl_seconds=None)

        def made(*values: Any, **named: Any) -> families.Family:
            return OURS[metric_class](self._store, *values, **named)

        return super()._create_metric_factory(made, *args, **kwargs)

    async def async_log_success_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Take in a success."""
        if not self._series.taken(kwargs, response_obj, start_time, end_time):
            await super().async_log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Take in a failure."""

        def done() -> Any:
            return PrometheusLogger.async_log_failure_event(self, kwargs, response_obj, start_time, end_time)

        def key() -> Hashable:
            is_skipped = self._should_skip_metrics_for_invalid_key(kwargs=kwargs)
            return is_skipped, failures.of_event(kwargs, self._readers)

        if not self._takes(key, done):
            await done()

    async def async_post_call_failure_hook(
        self, request_data: Raw, original_exception: Exception, user_api_key_dict: Any, traceback_str: str | None = None
    ) -> None:
        """Take in a failure as a client sees it."""

        def done() -> Any:
            return PrometheusLogger.async_post_call_failure_hook(
                self, request_data, original_exception, user_api_key_dict, traceback_str
            )

        def key() -> Hashable:
            return failures.of_hook(request_data, original_exception, user_api_key_dict, self._readers)

        # Which tags a request has is found out from its headers, too.
        if litellm.custom_prometheus_tags or not self._takes(key, done):
            await done()

    def _takes(self, key: Callable[[], Hashable], done: Callable[[], Any]) -> bool:
        """Take in a failure that is like others; return whether it is."""
        series = self._series
        try:
            return series.failed(key(), lambda: watched(self._store, done()))
        except Exception:  # noqa: BLE001 - LiteLLM's own code knows what to do with whatever this is
            return False

    async def _increment_remaining_budget_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: budgets are not LiteLLM's here."""

    async def _set_org_budget_metrics_after_api_request(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: see above."""

    async def _async_set_router_remaining_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: see above."""

    def _track_end_user_metric_series(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: series are bounded by the families."""

    async def drained(self) -> None:
        """Have all events counted that are there."""
        await self._series.drain()

    def _watched(self, event: Raw, answer: object, start: datetime, end: datetime) -> list[families.Watched] | None:
        """Return what LiteLLM's code does for an event, without doing it; None if that cannot be seen."""
        return watched(self._store, super().async_log_success_event(event, answer, start, end))


def mount(callback: EvenkeelPrometheusLogger) -> None:
    """Answer scrapes at /metrics, where LiteLLM's own middleware asks for a key if it is told to."""
    from litellm.integrations.prometheus_metrics_endpoint import make_metrics_asgi_app  # noqa: PLC0415 - of a proxy
    from litellm.proxy.proxy_server import app  # noqa: PLC0415

    answer = make_metrics_asgi_app(REGISTRY)

    async def scraped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await callback.drained()
        await answer(scope, receive, send)

    app.mount("/metrics", scraped)


def _readers(callback: Any, bounds: Bounds) -> Readers:
    end_user = stock.get_cached_end_user_id_for_cost_tracking()
    has_custom, has_tags = bool(litellm.custom_prometheus_metadata_labels), bool(litellm.custom_prometheus_tags)
    length = getattr(callback, "_get_input_sequence_length", None)
    tells_length = getattr(callback, "_emit_input_sequence_length_label", False)
    return Readers(
        end_user=lambda params: end_user(params, service_type="prometheus"),
        bounded=bounds.told,
        tier=stock.get_service_tier_from_standard_logging_payload,
        guardrails=PrometheusLogger._get_guardrail_overhead_seconds,  # noqa: SLF001 - what its own code calls
        custom=_custom if has_custom else None,
        tags=_tags if has_tags else None,
        tells_stream=bool(litellm.prometheus_emit_stream_label),
        length=length if tells_length else None,
    )


def _custom(payload: Raw) -> tuple[tuple[str, str], ...]:
    combined = combined_metadata(standard_logging_payload=payload)
    return tuple(stock.get_custom_labels_from_metadata(metadata=combined).items())


def _tags(tags: Any) -> tuple[tuple[str, str], ...]:
    return tuple(stock.get_custom_labels_from_tags(tags or ()).items())
