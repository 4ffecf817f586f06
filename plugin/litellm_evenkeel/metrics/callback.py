"""LiteLLM's Prometheus callback on our own metric families, with update plans in place of most of its work."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import dataclasses
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations import prometheus as upstream
from litellm.integrations.prometheus import PrometheusLogger
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from litellm_evenkeel.budgets import BudgetEntity
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.metrics.budget_gauges import remaining_budget
from litellm_evenkeel.metrics.budget_updates import BudgetUpdater
from litellm_evenkeel.metrics.litellm_readers import clean_label, litellm_readers, tag_labels
from litellm_evenkeel.metrics.multiprocess.compaction import DeadWorkerCompactor
from litellm_evenkeel.metrics.multiprocess.writer import MultiprocessWriter, PendingWrite
from litellm_evenkeel.metrics.proxy_caches import model_group_usage
from litellm_evenkeel.metrics.registry import families, metric_types
from litellm_evenkeel.metrics.registry.expiry import SeriesExpiry
from litellm_evenkeel.metrics.registry.label_limits import CLIENT_IP, END_USER, USER_AGENT, LabelLimits
from litellm_evenkeel.metrics.registry.litellm_limits import apply_end_user_limits, apply_metric_limits
from litellm_evenkeel.metrics.replay import failure_key
from litellm_evenkeel.metrics.replay.plan_cache import PlanCache
from litellm_evenkeel.metrics.replay.sentinel_event import LENGTH_CLASS_KEY
from litellm_evenkeel.metrics.replay.update_queue import QUIET_SECONDS, in_slices
from litellm_evenkeel.metrics.request_phases import RequestPhases, is_enabled
from litellm_evenkeel.metrics.router_usage import RemainingQuotaPoller
from litellm_evenkeel.metrics.self_metrics import SelfMetrics
from litellm_evenkeel.metrics.settings import MetricsSettings
from litellm_evenkeel.support import clock
from litellm_evenkeel.support.log_throttle import LogThrottle

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from datetime import datetime
    from pathlib import Path

    from litellm_evenkeel.budgets import BudgetCounts
    from litellm_evenkeel.metrics.budget_updates import OpenBudgets
    from litellm_evenkeel.metrics.registry.families import RecordedUpdate
    from litellm_evenkeel.metrics.replay.event_facts import Raw

# A worker pauses for at least this many times as long as its last write took, so writes take a twentieth of its time.
WRITE_SECONDS, PAUSES_PER_WRITE = 5.0, 20
LOG = logging.getLogger("litellm_evenkeel.metrics")
FAMILY_CLASSES = {Counter: metric_types.Counter, Gauge: metric_types.Gauge, Histogram: metric_types.Histogram}
LITELLM_CALLBACK = "prometheus"
# Prefixes of the attributes that LiteLLM's constructor or ours sets late. Reading one of them creates all series.
LAZY_PREFIXES = (
    *("litellm_", "label_filters", "exclude_", "latency_buckets", "_cached_metric_labels", "_series"),
    *("_plan_cache", "_budgets"),
)


class NullMetric:
    """A family whose updates have no effect."""

    def __getattr__(self, name: str) -> Any:
        """Return a function that accepts any arguments and returns this object again."""
        return lambda *_, **__: self


NULL_METRIC = NullMetric()
# Attributes that LiteLLM's methods read even if there are no metrics.
OFF_ATTRIBUTES: dict[str, Any] = {"label_filters": {}, "_cached_metric_labels": {}, "exclude_labels": frozenset()}
OFF_ATTRIBUTES |= {"_budgets": None, "exclude_metrics": frozenset(), "latency_buckets": ()}


# LiteLLM has no types.
class EvenkeelPrometheusLogger(PrometheusLogger):  # type: ignore[misc]
    """The callback. LiteLLM recognizes it as its own by its class. Its series are created when they are first needed.

    By then all of LiteLLM's settings are known: it applies them in the order of the YAML, and reads some only once.
    """

    # There must be no public attribute that is text or a number: LiteLLM distinguishes callbacks by these.
    def __init__(
        self,
        registry: CollectorRegistry = REGISTRY,
        settings: MetricsSettings | None = None,
        open_budgets: OpenBudgets | None = None,
        folder: Path | None = None,
    ) -> None:
        self._folder, self._is_off = folder, False
        self._registry, self._settings, self._open_budgets = registry, settings or MetricsSettings(), open_budgets
        self._creation_lock = threading.RLock()
        self._write_now = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        """Create the series when one of their attributes is first read."""
        if not name.startswith(LAZY_PREFIXES):
            raise AttributeError(name)
        with self._creation_lock:
            if name not in vars(self) and "_store" not in vars(self) and not self._is_off:
                self._create_or_switch_off()
        if self._is_off:
            return OFF_ATTRIBUTES.get(name, NULL_METRIC)
        if name not in vars(self):
            # The series are being created by LiteLLM's constructor, which reads an attribute that it has not set yet.
            raise AttributeError(name)
        return vars(self)[name]

    def _active_plans(self) -> PlanCache | None:
        """Return the plan cache, created if necessary; `None` if nothing is counted."""
        plan_cache = self._plan_cache
        return None if self._is_off else plan_cache

    def _create_or_switch_off(self) -> None:
        """Create the series. If that fails, log the error once and count nothing from then on."""
        try:
            _refuse_other_callbacks(self)
            self._create_series()
        except Exception as error:  # noqa: BLE001 - LiteLLM raises many kinds of errors for wrong settings
            self._is_off = True
            LOG.critical("evenkeel: this worker has no Prometheus metrics of LiteLLM; requests go on. Cause: %s", error)
            for family in self._store.families.values() if "_store" in vars(self) else ():
                self._registry.unregister(family)

    def _create_series(self) -> None:
        settings = self._settings
        max_values = {
            END_USER: settings.max_end_users,
            CLIENT_IP: settings.max_client_ips,
            USER_AGENT: settings.max_user_agents,
        }
        label_limits = LabelLimits(time.monotonic, max_values, settings.label_idle_ttl)
        self._store = families.MetricStore(self._registry, label_limits.bound)
        self._ttl = apply_end_user_limits(self._store, litellm)
        label_limits.on_retired = self._store.retire
        super().__init__()
        has_length_label = getattr(self, "_emit_input_sequence_length_label", False)
        self._readers = litellm_readers(
            label_limits,
            skips=lambda event: self._should_skip_metrics_for_invalid_key(kwargs=event),
            prompt_length_class=self._get_input_sequence_length if has_length_label else None,
        )
        self._plan_cache = PlanCache(
            self._store,
            self._readers,
            clean_label,
            self._record_success,
            clock=time.monotonic,
            flush_seconds=settings.flush_interval,
            max_waiting=settings.queue_size,
        )
        by_name = self._store.families
        self._usage = RemainingQuotaPoller(by_name, clean_label, model_group_usage, time.monotonic)
        self._budgets, self._throttle = None, LogThrottle(QUIET_SECONDS)
        if self._open_budgets is not None:
            end_user, labels = self._readers.end_user, dict(tag_labels(()))
            self._budgets = BudgetUpdater(
                self._open_budgets, by_name, end_user, clean_label, clock.now, labels, self._write_now.set
            )
        self._plan_cache.queue.after_round = self._after_round
        # Before events are counted, so that a series that was idle for too long starts anew with them.
        self._plan_cache.queue.before_round = SeriesExpiry(self._store, self._ttl, time.time).expire_due
        self._phases = RequestPhases(self._store) if is_enabled() else None
        self._self_metrics = SelfMetrics(self._store, self._plan_cache, label_limits, self.budget_counts)
        if self._folder is not None:
            self._writer = MultiprocessWriter(self._store, self._folder)
            self._compactor = DeadWorkerCompactor(self._folder, settings.label_idle_ttl)
            self._write_lock = asyncio.Lock()
            atexit.register(self.write_final)

    def _create_metric_factory(self, metric_class: Any, *args: Any, **kwargs: Any) -> Any:
        """Make LiteLLM create our families instead of the Prometheus client's."""
        limits = getattr(self, "_series_limits", None)
        if limits is not None and limits.enabled:
            admissions = self._series_cap_tracker
            is_shared = isinstance(admissions, getattr(upstream, "SharedPrometheusSeriesAdmissions", ()))
            self._ttl = apply_metric_limits(self._store, self._ttl, limits, admissions if is_shared else None)
            self._series_limits = dataclasses.replace(limits, max_series=None, ttl_seconds=None)

        def create(*values: Any, **named: Any) -> Any:
            return FAMILY_CLASSES[metric_class](self._store, *values, **named)

        return super()._create_metric_factory(create, *args, **kwargs)

    def _get_input_sequence_length(self, payload: Raw, event: Raw, answer: object) -> Any:
        """Return the class of a prompt's length; for a sentinel event, the sentinel in its place."""
        return payload.get(LENGTH_CLASS_KEY) or super()._get_input_sequence_length(payload, event, answer)

    async def async_log_success_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Count a success event by its plan, or by LiteLLM's own code if it has none."""
        plan_cache = self._active_plans()
        if plan_cache is None:
            return
        if self._budgets is not None:
            self._budgets.observe(kwargs)
        if self._phases is not None and not kwargs.get("stream"):
            self._phases.observe(response_obj)
        if not plan_cache.take_success(kwargs, response_obj, start_time, end_time):
            await super().async_log_success_event(kwargs, response_obj, start_time, end_time)
        elif kwargs.get("exception") is None or not self._readers.skips(kwargs):
            self._usage.observe(kwargs)

    async def async_log_failure_event(
        self, kwargs: Raw, response_obj: Any, start_time: datetime, end_time: datetime
    ) -> None:
        """Count a failed attempt."""
        original = partial(PrometheusLogger.async_log_failure_event, self, kwargs, response_obj, start_time, end_time)

        def key() -> Hashable:
            return self._readers.skips(kwargs), failure_key.event_key(kwargs, self._readers)

        if self._active_plans() is not None and not self._take_failure(key, original):
            await original()

    async def async_post_call_failure_hook(
        self, request_data: Raw, original_exception: Exception, user_api_key_dict: Any, traceback_str: str | None = None
    ) -> None:
        """Count a failed request as the client sees it."""
        original = partial(
            PrometheusLogger.async_post_call_failure_hook,
            *(self, request_data, original_exception, user_api_key_dict, traceback_str),
        )

        def key() -> Hashable:
            return failure_key.hook_key(request_data, original_exception, user_api_key_dict, self._readers)

        # LiteLLM reads tags from a request's headers too, which are not part of a failure key.
        if self._active_plans() is not None and (
            litellm.custom_prometheus_tags or not self._take_failure(key, original)
        ):
            await original()

    def _take_failure(self, key: Callable[[], Hashable], original: Callable[[], Any]) -> bool:
        """Count a failure by the plan for its key. Return `False` if LiteLLM's own code has to count it."""
        plan_cache = self._plan_cache
        try:
            return plan_cache.take_failure(key(), lambda: self._store.record(original()))
        except Exception:  # noqa: BLE001 - LiteLLM's own code handles failures of any form
            return False

    async def _increment_remaining_budget_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: our own code looks up and exports budgets."""

    async def _set_org_budget_metrics_after_api_request(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: our own code looks up and exports budgets."""

    async def _async_set_router_remaining_metrics(
        self, standard_logging_payload: Raw, enum_values: Any, *_: Any, **__: Any
    ) -> None:
        """Keep the event's labels for the next poll of the router, which takes place outside of events."""
        if self._store.recording.updates is None:
            model = getattr(enum_values, "litellm_model_name", "")
            # An event that lacks a field must not stop LiteLLM's own code.
            with contextlib.suppress(Exception):
                self._usage.observe({"standard_logging_object": standard_logging_payload, "model": model})

    def _track_end_user_metric_series(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the families limit the series of end users themselves."""

    def _set_team_budget_metrics(self, team: Any) -> None:
        """Record a row that LiteLLM reads when it refreshes the budgets of all teams."""
        self._record_row(BudgetEntity.TEAM, team.team_id, *_amounts(team), team.team_alias)

    def _set_key_budget_metrics(self, user_api_key_dict: Any) -> None:
        """Record a key's row."""
        key = user_api_key_dict
        self._record_row(BudgetEntity.KEY, key.token, *_amounts(key), key.key_alias)

    def _set_user_budget_metrics(self, user: Any) -> None:
        """Record a user's row."""
        self._record_row(BudgetEntity.USER, user.user_id, *_amounts(user), user.user_alias, user.user_email)

    def _set_org_budget_metrics(
        self, org_id: str, org_alias: str, spend: float, max_budget: float | None, budget_reset_at: datetime | None
    ) -> None:
        """Record an organisation's row."""
        self._record_row(BudgetEntity.ORG, org_id, spend, max_budget, budget_reset_at, org_alias)

    def _set_customer_budget_metrics(
        self, end_user_id: str, spend: float, max_budget: float | None, budget_reset_at: datetime | None
    ) -> None:
        """Record a customer's row."""
        self._record_row(BudgetEntity.CUSTOMER, end_user_id, spend, max_budget, budget_reset_at)

    def _record_row(self, *row: Any) -> None:
        if self._budgets is not None:
            self._budgets.record_row(*row)

    def track_provider_remaining_budget(self, provider: str, spend: float, budget_limit: float) -> None:
        """Export what remains of a provider's budget, if that is known."""
        self._record_row(BudgetEntity.PROVIDER, provider, spend, budget_limit, None)
        remaining = remaining_budget(budget_limit, spend)
        if remaining is not None:
            self.litellm_provider_remaining_budget_metric.labels(provider).set(remaining)

    def event_counts(self) -> dict[str, Any]:
        """Return how many events were counted, dropped and wait, and the time that counting them took."""
        plan_cache = self._active_plans()
        if plan_cache is None:
            return {"enabled": False}
        queue = plan_cache.queue
        return {
            "enabled": True,
            "events": dict(plan_cache.counts),
            "dropped": dict(queue.dropped),
            "waiting": queue.waiting,
            "busy_seconds": queue.busy_seconds,
        }

    def budget_counts(self) -> BudgetCounts | None:
        """Return the counts of budget lookups; `None` if budgets are switched off."""
        return None if self._budgets is None else self._budgets.counts()

    async def drain(self) -> None:
        """Count all waiting events and update everything else for a scrape. Errors are logged, not raised."""
        plan_cache = self._active_plans()
        if plan_cache is None:
            return
        try:
            await self._update_metrics(plan_cache)
        except Exception as error:  # noqa: BLE001 - scrapes must be answered, and the next attempt may succeed
            if self._throttle.allows(time.monotonic()):
                text = "evenkeel: this worker's metrics could not be updated (%s). Scrapes show old values meanwhile."
                LOG.warning(text, type(error).__name__)

    async def keep_writing(self, seconds: float = WRITE_SECONDS) -> None:
        """Write the series to the workers' folder every `seconds`, and after a warning about budgets, for ever."""
        took = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(seconds, PAUSES_PER_WRITE * took)):
                    await self._write_now.wait()
            self._write_now.clear()
            began = time.monotonic()
            await self.drain()
            took = time.monotonic() - began

    async def _update_metrics(self, plan_cache: PlanCache) -> None:
        await plan_cache.queue.drain()
        if self._budgets is not None:
            await in_slices(self._budgets.gauges.update_hours_left())
        self._self_metrics.refresh()
        if self._folder is None:
            return
        # Scrapes and the timer both write, and only one may write at a time.
        async with self._write_lock:
            pending = PendingWrite()
            await in_slices(self._writer.gather(pending))
            await asyncio.to_thread(self._writer.save, pending, self._compactor)
            await asyncio.to_thread(self._compactor.compact)

    def write_final(self) -> None:
        """Count all waiting events, and write the series a last time when this worker ends."""
        if self._folder is None or "_writer" not in vars(self):
            return
        # The worker ends, so budgets and limits are not looked up any more.
        self._plan_cache.queue.after_round = tuple
        self._plan_cache.queue.flush()
        self._self_metrics.refresh()
        with contextlib.suppress(OSError):
            self._writer.write()

    def _after_round(self) -> Iterator[None]:
        if self._budgets is not None:
            yield from self._budgets.refresh()
        with contextlib.suppress(RuntimeError):
            # When a worker ends, there is no event loop any more.
            self._usage.poll()

    def _record_success(
        self, event: Raw, answer: object, start: datetime, end: datetime
    ) -> list[RecordedUpdate] | None:
        """Return the updates that LiteLLM's own code would make for a success; `None` if they cannot be recorded."""
        return self._store.record(super().async_log_success_event(event, answer, start, end))


def _amounts(row: Any) -> tuple[Any, Any, Any]:
    return row.spend, row.max_budget, row.budget_reset_at


def default_customer_budget() -> str | None:
    """Return the id of the budget for customers without one of their own; `None` if none is configured."""
    budget_id = getattr(litellm, "max_end_user_budget_id", None)
    return budget_id if isinstance(budget_id, str) else None


def _refuse_other_callbacks(own: PrometheusLogger) -> None:
    """Raise `SettingsError` if another Prometheus callback is registered, for example from the database."""
    registered = [*litellm.callbacks, *litellm.success_callback, *litellm.failure_callback]
    if any(
        other == LITELLM_CALLBACK or (isinstance(other, PrometheusLogger) and other is not own) for other in registered
    ):
        raise SettingsError(
            "litellm_settings: expected one Prometheus callback, got two that would both count each request. "
            f"Hint: remove {LITELLM_CALLBACK!r} or ours. LiteLLM may have added the other one from its database."
        )
