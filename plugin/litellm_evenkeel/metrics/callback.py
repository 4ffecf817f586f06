"""LiteLLM's Prometheus callback, with other families beneath it, and with plans in place of most of its work."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import dataclasses
import logging
import math
import threading
import time
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations import prometheus as stock
from litellm.integrations.prometheus import (
    PrometheusLogger,
    _get_combined_custom_metadata_from_standard_logging_payload as combined_metadata,
)
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from litellm_evenkeel.budgets import BudgetEntity
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.metrics.budget_gauges import remaining_budget
from litellm_evenkeel.metrics.budget_updates import BudgetUpdater
from litellm_evenkeel.metrics.multiprocess.compaction import DeadWorkerCompactor
from litellm_evenkeel.metrics.multiprocess.writer import MultiprocessWriter, PendingWrite
from litellm_evenkeel.metrics.proxy_caches import model_group_usage
from litellm_evenkeel.metrics.registry import families, metric_types
from litellm_evenkeel.metrics.registry.expiry import SeriesExpiry
from litellm_evenkeel.metrics.registry.label_limits import CLIENT_IP, END_USER, OTHER, USER_AGENT, LabelLimits
from litellm_evenkeel.metrics.registry.litellm_limits import apply_end_user_limits, apply_metric_limits
from litellm_evenkeel.metrics.replay import failure_key
from litellm_evenkeel.metrics.replay.event_facts import LiteLLMReaders, Raw
from litellm_evenkeel.metrics.replay.plan_cache import PlanCache, PlanCacheSettings
from litellm_evenkeel.metrics.replay.recorder import record_updates
from litellm_evenkeel.metrics.replay.sentinel_event import LENGTH_CLASS_KEY
from litellm_evenkeel.metrics.replay.update_queue import QUIET_SECONDS, in_slices
from litellm_evenkeel.metrics.router_usage import RemainingQuotaPoller
from litellm_evenkeel.metrics.self_metrics import SelfMetrics
from litellm_evenkeel.metrics.settings import MetricsSettings
from litellm_evenkeel.support import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from datetime import datetime
    from pathlib import Path

    from litellm_evenkeel.budgets import BudgetCounts
    from litellm_evenkeel.metrics.budget_updates import OpenBudgets
    from litellm_evenkeel.metrics.registry.families import RecordedUpdate

# These two were private until LiteLLM 1.106.
cleaned = getattr(stock, "sanitize_prometheus_label_value", None) or stock._sanitize_prometheus_label_value  # noqa: SLF001
end_user_getter = (
    getattr(stock, "get_cached_end_user_id_for_cost_tracking", None) or stock._get_cached_end_user_id_for_cost_tracking  # noqa: SLF001
)
WRITTEN_EVERY_SECONDS, SPARED = 5.0, 20
LOG = logging.getLogger("litellm_evenkeel.metrics")
OURS = {Counter: metric_types.Counter, Gauge: metric_types.Gauge, Histogram: metric_types.Histogram}
LITELLM_CALLBACK = "prometheus"
# What LiteLLM's methods read of what its constructor makes.
MADE = ("litellm_", "label_filters", "exclude_", "latency_buckets", "_cached_metric_labels", "_series", "_budgets")


class NullMetric:
    """A family of which nobody hears."""

    def __getattr__(self, name: str) -> Any:
        """Return what does nothing, and may be asked for anything again."""
        return lambda *_, **__: self


NOBODY = NullMetric()
# What LiteLLM's methods read even then.
NOTHING_MADE: dict[str, Any] = {"label_filters": {}, "_cached_metric_labels": {}, "exclude_labels": frozenset()}
NOTHING_MADE |= {"_budgets": None, "exclude_metrics": frozenset(), "latency_buckets": ()}


# LiteLLM has no types.
class EvenkeelPrometheusLogger(PrometheusLogger):  # type: ignore[misc]
    """The callback. LiteLLM finds it as its own, by its class; its series are made when they are first needed.

    By then all of LiteLLM's settings are there: it sets them in the order of the YAML, and reads some only once.
    """

    # No attribute that is text or a number, and public: LiteLLM tells callbacks apart by these.
    def __init__(
        self,
        registry: CollectorRegistry = REGISTRY,
        settings: MetricsSettings | None = None,
        open_budgets: OpenBudgets | None = None,
        folder: Path | None = None,
    ) -> None:
        self._folder, self._is_off = folder, False
        self._registry, self._settings, self._open_budgets = registry, settings or MetricsSettings(), open_budgets
        self._making = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        """Make the series when one of them is asked for."""
        if not name.startswith(MADE):
            raise AttributeError(name)
        with self._making:
            if name not in vars(self) and "_store" not in vars(self) and not self._is_off:
                self._try_to_make()
        if self._is_off:
            return NOTHING_MADE.get(name, NOBODY)
        if name not in vars(self):
            # It is being made, and asks for what it has not made yet.
            raise AttributeError(name)
        return vars(self)[name]

    def _made(self) -> PlanCache | None:
        """Return what counts events, made if it is not yet; None if nothing is counted."""
        series = self._plan_cache
        return None if self._is_off else series

    def _try_to_make(self) -> None:
        """Make the series; what prevents it is told once, and from then on nothing is counted."""
        try:
            _refuse_others(self)
            self._make()
        except Exception as error:  # noqa: BLE001 - LiteLLM says what is wrong with its settings by all kinds of errors
            self._is_off = True
            LOG.critical("evenkeel: this worker has no Prometheus metrics of LiteLLM. %s", error)
            for family in self._store.families.values() if "_store" in vars(self) else ():
                self._registry.unregister(family)

    def _make(self) -> None:
        settings = self._settings
        most = {
            END_USER: settings.most_end_users,
            CLIENT_IP: settings.most_client_ips,
            USER_AGENT: settings.most_user_agents,
        }
        label_limits = LabelLimits(time.monotonic, most, settings.idle)
        self._store = families.MetricStore(self._registry, label_limits.bound)
        self._ttl = apply_end_user_limits(self._store, litellm)
        label_limits.on_retired = self._store.retire
        super().__init__()
        self._readers = _readers(self, label_limits)
        self._plan_cache = PlanCache(
            self._store,
            self._readers,
            cleaned,
            self._watched,
            clock=time.monotonic,
            settings=PlanCacheSettings(flush_seconds=settings.flush_every, max_waiting=settings.most_waiting),
        )
        made = self._store.families
        self._usage = RemainingQuotaPoller(made, cleaned, model_group_usage, time.monotonic)
        self._budgets, self._quiet_until = None, -math.inf
        if self._open_budgets is not None:
            end_user, always = self._readers.end_user, dict(_tags(()))
            self._budgets = BudgetUpdater(self._open_budgets, made, end_user, cleaned, clock.now, always)
        self._plan_cache.queue.after_round = self._flushed
        # Before events are counted: a series that was silent for too long begins anew with them.
        self._plan_cache.queue.before_round = SeriesExpiry(self._store, self._ttl, time.time).expire_due
        self._self_metrics = SelfMetrics(self._store, self._plan_cache, label_limits, self.budget_counts)
        if self._folder is not None:
            self._writer, self._compactor = (
                MultiprocessWriter(self._store, self._folder),
                DeadWorkerCompactor(self._folder, settings.idle),
            )
            self._writing = asyncio.Lock()
            atexit.register(self.write_final)

    def _create_metric_factory(self, metric_class: Any, *args: Any, **kwargs: Any) -> Any:
        """Have LiteLLM make families of ours."""
        limits = getattr(self, "_series_limits", None)
        if limits is not None and limits.enabled:
            places = self._series_cap_tracker
            is_shared = isinstance(places, getattr(stock, "SharedPrometheusSeriesAdmissions", ()))
            self._ttl = apply_metric_limits(self._store, self._ttl, limits, places if is_shared else None)
            self._series_limits = dataclasses.replace(limits, max_series=None, ttl_seconds=None)

        def made(*values: Any, **named: Any) -> families.Family:
            return OURS[metric_class](self._store, *values, **named)

        return super()._create_metric_factory(made, *args, **kwargs)

    def _get_input_sequence_length(self, payload: Raw, event: Raw, answer: object) -> Any:
        """Return the class of a prompt's length; of a twin, the mark that it has for that."""
        return payload.get(LENGTH_CLASS_KEY) or super()._get_input_sequence_length(payload, event, answer)

    async def async_log_success_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Take in a success."""
        series = self._made()
        if series is None:
            return
        self._see_budgets(kwargs)
        if not series.take_success(kwargs, response_obj, start_time, end_time):
            await super().async_log_success_event(kwargs, response_obj, start_time, end_time)
        elif kwargs.get("exception") is None or not self._readers.skips(kwargs):
            self._usage.observe(kwargs)

    async def async_log_failure_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Take in a failure."""

        def done() -> Any:
            return PrometheusLogger.async_log_failure_event(self, kwargs, response_obj, start_time, end_time)

        def key() -> Hashable:
            return self._readers.skips(kwargs), failure_key.event_key(kwargs, self._readers)

        if self._made() is not None and not self._takes(key, done):
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
            return failure_key.hook_key(request_data, original_exception, user_api_key_dict, self._readers)

        # Which tags a request has is found out from its headers, too.
        if self._made() is not None and (litellm.custom_prometheus_tags or not self._takes(key, done)):
            await done()

    def _takes(self, key: Callable[[], Hashable], done: Callable[[], Any]) -> bool:
        """Take in a failure that is like others; return whether it is."""
        series = self._plan_cache
        try:
            return series.take_failure(key(), lambda: record_updates(self._store, done()))
        except Exception:  # noqa: BLE001 - LiteLLM's own code knows what to do with whatever this is
            return False

    async def _increment_remaining_budget_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: budgets are not LiteLLM's here."""

    async def _set_org_budget_metrics_after_api_request(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: see above."""

    async def _async_set_router_remaining_metrics(
        self, standard_logging_payload: Raw, enum_values: Any, *_: Any, **__: Any
    ) -> None:
        """Remember who asked for which group: the router is asked beside the events. LiteLLM gives up some before."""
        if self._store.recorder is None:
            model = getattr(enum_values, "litellm_model_name", "")
            # Whatever an event lacks, LiteLLM's own code goes on.
            with contextlib.suppress(Exception):
                self._usage.observe({"standard_logging_object": standard_logging_payload, "model": model})

    def _track_end_user_metric_series(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: series are bounded by the families."""

    def _set_team_budget_metrics(self, team: Any) -> None:
        """Know a row that LiteLLM reads at times, of all that there are."""
        self._know(BudgetEntity.TEAM, team.team_id, team, team.team_alias)

    def _set_key_budget_metrics(self, user_api_key_dict: Any) -> None:
        """The same of a key."""
        self._know(BudgetEntity.KEY, user_api_key_dict.token, user_api_key_dict, user_api_key_dict.key_alias)

    def _set_user_budget_metrics(self, user: Any) -> None:
        """The same of a user."""
        self._know(BudgetEntity.USER, user.user_id, user, user.user_alias, user.user_email)

    def _set_org_budget_metrics(
        self, org_id: str, org_alias: str, spend: float, max_budget: float | None, budget_reset_at: datetime | None
    ) -> None:
        """The same of an organisation."""
        if self._budgets is not None:
            self._budgets.record_row(BudgetEntity.ORG, org_id, spend, max_budget, budget_reset_at, org_alias)

    def _set_customer_budget_metrics(
        self, end_user_id: str, spend: float, max_budget: float | None, budget_reset_at: datetime | None
    ) -> None:
        """The same of a customer."""
        if self._budgets is not None:
            self._budgets.record_row(BudgetEntity.CUSTOMER, end_user_id, spend, max_budget, budget_reset_at)

    def _know(self, kind: BudgetEntity, who: str | None, row: Any, alias: str | None, email: str | None = None) -> None:
        if self._budgets is not None:
            self._budgets.record_row(kind, who, row.spend, row.max_budget, row.budget_reset_at, alias, email)

    def track_provider_remaining_budget(self, provider: str, spend: float, budget_limit: float) -> None:
        """Show what is left of a provider's budget, if that is known."""
        if self._budgets is not None:
            self._budgets.record_row(BudgetEntity.PROVIDER, provider, spend, budget_limit, None)
        left = remaining_budget(budget_limit, spend)
        if left is not None:
            self.litellm_provider_remaining_budget_metric.labels(provider).set(left)

    def budget_counts(self) -> BudgetCounts | None:
        """Return how it goes with budgets; None if they are not looked at."""
        return None if self._budgets is None else self._budgets.counts()

    async def drain(self) -> None:
        """Have all events counted that are there, and all else brought up to date, as far as that can be done."""
        series = self._made()
        if series is None:
            return
        try:
            await self._bring_up_to_date(series)
        except Exception as error:  # noqa: BLE001 - whatever it is, scrapes are answered, and the next time may go better
            now = time.monotonic()
            if now >= self._quiet_until:
                self._quiet_until = now + QUIET_SECONDS
                LOG.warning("evenkeel: the series of this worker are not all up to date (%s).", type(error).__name__)

    async def keep_writing(self, seconds: float = WRITTEN_EVERY_SECONDS) -> None:
        """Leave what there is for other workers, again and again, for ever."""
        took = 0.0
        while True:
            # A worker with very many series spends a twentieth of its time on that, and no more.
            await asyncio.sleep(max(seconds, SPARED * took))
            began = time.monotonic()
            await self.drain()
            took = time.monotonic() - began

    async def _bring_up_to_date(self, series: PlanCache) -> None:
        await series.queue.drain()
        if self._budgets is not None:
            await in_slices(self._budgets.update_hours_left())
        self._self_metrics.refresh()
        if self._folder is None:
            return
        # Whoever scrapes, and the timer: one writes at a time.
        async with self._writing:
            found = PendingWrite()
            await in_slices(self._writer.gather(found))
            await asyncio.to_thread(self._writer.save, found, self._compactor)
            await asyncio.to_thread(self._compactor.compact)

    def write_final(self) -> None:
        """Leave all that was counted, when this worker ends."""
        if self._folder is None or "_files" not in vars(self):
            return
        # Nobody looks up anything any more.
        self._plan_cache.queue.after_round = tuple
        self._plan_cache.queue.flush()
        self._self_metrics.refresh()
        with contextlib.suppress(OSError):
            self._writer.write()

    def _see_budgets(self, event: Raw) -> None:
        """Keep whose budgets are looked up beside an event."""
        if self._budgets is not None:
            try:
                self._budgets.observe(event)
            except Exception as error:  # noqa: BLE001 - of such an event, nothing is known but that it was
                self._budgets.record_unreadable(error)

    def _flushed(self) -> Iterator[None]:
        if self._budgets is not None:
            yield from self._budgets.refresh()
        with contextlib.suppress(RuntimeError):
            # At the end of a worker, there is no loop any more.
            self._usage.poll()

    def _watched(self, event: Raw, answer: object, start: datetime, end: datetime) -> list[RecordedUpdate] | None:
        """Return what LiteLLM's code does for an event, without doing it; None if that cannot be seen."""
        return record_updates(self._store, super().async_log_success_event(event, answer, start, end))


def default_customer_budget() -> str | None:
    """Return the budget that customers have who have none of their own."""
    found = getattr(litellm, "max_end_user_budget_id", None)
    return found if isinstance(found, str) else None


def _refuse_others(mine: PrometheusLogger) -> None:
    """Raise SettingsError if another callback counts the same: a database may have added one."""
    registered = [*litellm.callbacks, *litellm.success_callback, *litellm.failure_callback]
    if any(one == LITELLM_CALLBACK or (isinstance(one, PrometheusLogger) and one is not mine) for one in registered):
        raise SettingsError(f"Another Prometheus callback counts as well. Remove {LITELLM_CALLBACK!r} or ours.")


def _readers(callback: Any, label_limits: LabelLimits) -> LiteLLMReaders:
    def bounded(name: str, value: Any) -> Any:
        # Known by the form in which families have it: by both, it would take two places.
        return OTHER if value is not None and label_limits.bound(name, cleaned(value)) == OTHER else value

    end_user = end_user_getter()
    has_custom, has_tags = bool(litellm.custom_prometheus_metadata_labels), bool(litellm.custom_prometheus_tags)
    tells_length = getattr(callback, "_emit_input_sequence_length_label", False)
    return LiteLLMReaders(
        end_user=lambda params: end_user(params, service_type="prometheus"),
        bound_value=bounded,
        tier=stock.get_service_tier_from_standard_logging_payload,
        skips=lambda event: callback._should_skip_metrics_for_invalid_key(kwargs=event),  # noqa: SLF001
        guardrail_seconds=PrometheusLogger._get_guardrail_overhead_seconds,  # noqa: SLF001 - what its own code calls
        custom_labels=_custom if has_custom else None,
        tag_labels=_tags if has_tags else None,
        has_stream_label=bool(litellm.prometheus_emit_stream_label),
        prompt_length_class=callback._get_input_sequence_length if tells_length else None,  # noqa: SLF001
    )


def _custom(payload: Raw) -> tuple[tuple[str, str], ...]:
    combined = combined_metadata(standard_logging_payload=payload)
    return tuple(stock.get_custom_labels_from_metadata(metadata=combined).items())


def _tags(tags: Any) -> tuple[tuple[str, str], ...]:
    return tuple(stock.get_custom_labels_from_tags(tags or ()).items())
