"""Series that were silent for long are let go as LiteLLM's settings say, and what end users came to is not lost."""

from __future__ import annotations

import time

import pytest
from prometheus_client import CollectorRegistry

from litellm_evenkeel.metrics.registry.expiry import SeriesExpiry, SeriesTtl
from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.label_limits import OTHER
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge, Histogram


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def store(registry: CollectorRegistry) -> MetricStore:
    return MetricStore(registry)


class Clock:
    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def test_what_was_silent_is_gone_and_what_was_heard_of_stays(store: MetricStore, registry: CollectorRegistry) -> None:
    calls, alone = Counter(store, "calls", "Calls.", ("model",)), Gauge(store, "alone", "No labels.")
    calls.labels("a").inc()
    calls.labels("b").inc()
    clock = Clock()
    expiry = SeriesExpiry(store, SeriesTtl(all_seconds=100.0, all_check_seconds=10.0), clock)
    clock.ahead = 200.0
    calls.labels("b").updated_at = clock()
    alone.set(7)
    expiry.expire_due()
    assert registry.get_sample_value("calls_total", {"model": "a"}) is None
    assert registry.get_sample_value("calls_total", {"model": "b"}) == 1
    assert registry.get_sample_value("alone") == 7
    assert (store.expired_count, store.epoch) == (1, 1)


def test_it_is_looked_at_now_and_then_only(store: MetricStore) -> None:
    Counter(store, "calls", "Calls.", ("model",)).labels("a").inc()
    clock = Clock()
    expiry = SeriesExpiry(store, SeriesTtl(all_seconds=1.0, all_check_seconds=60.0), clock)
    clock.ahead = 50.0
    expiry.expire_due()
    assert store.expired_count == 0
    clock.ahead = 70.0
    expiry.expire_due()
    assert store.expired_count == 1


def test_end_users_who_were_silent_go_and_what_they_came_to_is_known(
    store: MetricStore, registry: CollectorRegistry
) -> None:
    calls = Counter(store, "calls", "Calls.", ("end_user", "model"))
    seconds = Histogram(store, "seconds", "Seconds.", ("end_user",), buckets=(1.0,))
    size = Gauge(store, "size", "Size.", ("end_user",))
    for who in ("ann", "ben", "None"):
        calls.labels(who, "m").inc(2)
        seconds.labels(who).observe(0.5)
        size.labels(who).set(3)
    clock = Clock()
    expiry = SeriesExpiry(store, SeriesTtl(end_user_seconds=100.0, end_user_check_seconds=10.0), clock)
    clock.ahead = 200.0
    expiry.expire_due()
    # `increase` over all series would count the value of a removed series twice.
    assert registry.get_sample_value("calls_total", {"end_user": OTHER, "model": "m"}) is None
    assert registry.get_sample_value("calls_total", {"end_user": "None", "model": "m"}) == 2
    assert registry.get_sample_value("calls_total", {"end_user": "ann", "model": "m"}) is None
    assert store.removed_totals == {"calls_total": 4, "seconds_count": 2, "seconds_sum": 1.0}
    assert registry.get_sample_value("size", {"end_user": "ann"}) is None
    assert registry.get_sample_value("size", {"end_user": "None"}) == 3


def test_without_such_settings_everything_stays(store: MetricStore) -> None:
    Counter(store, "calls", "Calls.", ("model",)).labels("a").inc()
    clock = Clock()
    expiry = SeriesExpiry(store, SeriesTtl(all_check_seconds=1.0, end_user_check_seconds=1.0), clock)
    clock.ahead = 1e9
    expiry.expire_due()
    assert store.expired_count == 0


def test_end_users_have_no_more_series_than_they_may(store: MetricStore, registry: CollectorRegistry) -> None:
    store.max_end_user_series = 2
    calls = Counter(store, "calls", "Calls.", ("end_user", "model"))
    for number in range(5):
        calls.labels(f"user-{number}", "m").inc()
        calls.labels("None", f"m{number}").inc()
    assert len(calls.series) == 2 + 1 + 5
    assert registry.get_sample_value("calls_total", {"end_user": OTHER, "model": "m"}) == 3
    # Who goes makes room.
    store.retire("end_user", "user-0")
    calls.labels("user-9", "m").inc()
    assert registry.get_sample_value("calls_total", {"end_user": "user-9", "model": "m"}) == 1
    assert registry.get_sample_value("calls_total", {"end_user": OTHER, "model": "m"}) == 3
    assert store.removed_totals == {"calls_total": 1}


def test_without_an_interval_it_is_looked_at_at_every_chance(store: MetricStore, registry: CollectorRegistry) -> None:
    calls = Counter(store, "calls", "Calls.", ("end_user",))
    for who in ("ann", "None"):
        calls.labels(who).inc()
    clock = Clock()
    expiry = SeriesExpiry(store, SeriesTtl(all_seconds=100.0, end_user_seconds=5.0, end_user_check_seconds=0.0), clock)
    for ahead in (2.0, 4.0, 6.0):
        clock.ahead = ahead
        expiry.expire_due()
        assert (registry.get_sample_value("calls_total", {"end_user": "ann"}) is None) is (ahead > 5.0)
    assert registry.get_sample_value("calls_total", {"end_user": "None"}) == 1


def test_each_kind_is_looked_at_as_often_as_its_own_setting_says(store: MetricStore) -> None:
    Counter(store, "calls", "Calls.", ("end_user",)).labels("ann").inc()
    clock = Clock()
    expiry = SeriesExpiry(store, SeriesTtl(all_seconds=1.0, all_check_seconds=0.0, end_user_check_seconds=600.0), clock)
    clock.ahead = 5.0
    expiry.expire_due()
    assert store.expired_count == 1
