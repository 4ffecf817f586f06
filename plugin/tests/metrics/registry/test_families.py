"""Metric families: their output equals that of Prometheus' own client."""

from __future__ import annotations

import math
import threading
from typing import Any

import prometheus_client
import pytest
from hypothesis import given, settings, strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from litellm_evenkeel.metrics.registry.families import MetricStore, RecordedUpdate
from litellm_evenkeel.metrics.registry.label_limits import OTHER
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge, Histogram
from litellm_evenkeel.metrics.registry.series import HistogramSeries

amounts = st.floats(0, 1e9, allow_nan=False) | st.sampled_from([0.0, 0.1, 1.0, 2.5, 10.0, math.inf])
labels = st.tuples(st.sampled_from(["a", "b", 'q"\\\n', ""]), st.sampled_from(["x", None, 7]))
operations = st.lists(
    st.tuples(st.just("calls_total"), labels, st.just("inc"), amounts)
    | st.tuples(st.just("size"), labels, st.sampled_from(["set", "inc", "dec"]), amounts)
    | st.tuples(st.just("seconds"), labels, st.just("observe"), amounts)
    | st.tuples(st.just("size"), labels, st.just("remove"), st.just(0.0)),
    max_size=40,
)
BUCKETS = (0.1, 1.0, 2.5, 10.0)


def store(**options: Any) -> tuple[MetricStore, CollectorRegistry]:
    registry = CollectorRegistry()
    return MetricStore(registry, **options), registry


def scraped(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


@settings(deadline=None)
@given(operations)
def test_the_same_is_told_as_by_the_client(done: list[tuple[str, tuple[Any, Any], str, float]]) -> None:
    mine, theirs = CollectorRegistry(), CollectorRegistry()
    ours = MetricStore(mine)
    made: dict[str, tuple[Any, Any]] = {
        "calls_total": (
            Counter(ours, "calls_total", "Calls.", ("who", "what")),
            prometheus_client.Counter("calls_total", "Calls.", ("who", "what"), registry=theirs),
        ),
        "size": (
            Gauge(ours, "size", "Size.", labelnames=("who", "what")),
            prometheus_client.Gauge("size", "Size.", labelnames=("who", "what"), registry=theirs),
        ),
        "seconds": (
            Histogram(ours, "seconds", "Seconds.", ("who", "what"), buckets=BUCKETS),
            prometheus_client.Histogram("seconds", "Seconds.", ("who", "what"), buckets=BUCKETS, registry=theirs),
        ),
        "alone": (
            Gauge(ours, "alone", "No labels."),
            prometheus_client.Gauge("alone", "No labels.", registry=theirs),
        ),
    }
    there: set[tuple[Any, Any]] = set()
    for name, labels, verb, amount in done:
        if verb == "remove" and labels not in there:
            continue
        for family in made[name]:
            if verb == "remove":
                family.remove(*labels)
            elif amount == 7:
                getattr(family.labels(who=labels[0], what=labels[1]), verb)(amount)
            else:
                getattr(family.labels(*labels), verb)(amount)
        if name == "size":
            (there.discard if verb == "remove" else there.add)(labels)
    assert sorted(scraped(mine)) == sorted(scraped(theirs))


def test_counters_only_grow_and_labels_have_to_fit() -> None:
    ours, _ = store()
    family = Counter(ours, "calls", "Calls.", ("who",))
    for wrong in (lambda: family.labels("a").inc(-1), lambda: family.labels("a", "b"), lambda: family.labels(whom="a")):
        with pytest.raises(ValueError, match=r"non-negative|label"):
            wrong()


def test_two_families_of_one_name_are_refused_as_by_the_client() -> None:
    ours, _ = store()
    Counter(ours, "calls", "Calls.")
    with pytest.raises(ValueError, match="Duplicated"):
        Counter(ours, "calls", "Calls.")


def test_a_scrape_for_some_names_asks_only_for_those() -> None:
    ours, registry = store()
    Counter(ours, "calls", "Calls.").inc()
    Gauge(ours, "size", "Size.").set(3)
    scrape = generate_latest(registry.restricted_registry(["size"])).decode()
    assert ("size 3.0" in scrape, "calls" in scrape) == (True, False)


def test_while_somebody_takes_notes_nothing_is_written() -> None:
    ours, registry = store()
    counter, gauge = Counter(ours, "calls", "Calls.", ("who",)), Gauge(ours, "size", "Size.", ("who",))

    async def update() -> None:
        counter.labels("a").inc(2)
        gauge.labels("a").set(5)
        gauge.remove("b")

    assert [(one.family.name, one.labels, one.operation) for one in ours.record(update()) or ()] == [
        ("calls", ("a",), "inc"),
        ("size", ("a",), "set"),
        ("size", ("b",), "remove"),
    ]
    assert not [line for line in scraped(registry) if not line.startswith("#")]


def test_what_another_thread_writes_meanwhile_is_written() -> None:
    ours, registry = store()
    calls = Counter(ours, "calls", "Calls.", ("who",))
    recorded = ours.recording.updates = list[RecordedUpdate]()
    other = threading.Thread(target=lambda: calls.labels("a").inc())
    other.start()
    other.join()
    calls.labels("b").inc()
    ours.recording.updates = None
    assert [one.labels for one in recorded] == [("b",)]
    assert [registry.get_sample_value("calls_total", {"who": who}) for who in "ab"] == [1, None]


def test_what_is_retired_is_gone_and_what_it_came_to_is_known() -> None:
    ours, registry = store()
    calls = Counter(ours, "calls", "Calls.", ("who", "what"))
    size, took = Gauge(ours, "size", "Size.", ("who",)), Histogram(ours, "took", "Took.", ("who",), buckets=BUCKETS)
    for who, number in (("a", 1), ("b", 2), (OTHER, 4)):
        calls.labels(who, "x").inc(number)
        took.labels(who).observe(number)
        size.labels(who).set(number)
    ours.retire("who", "a")
    value = registry.get_sample_value
    assert [value("calls_total", {"who": who, "what": "x"}) for who in ("a", "b", OTHER)] == [None, 2, 4]
    assert [value("took_count", {"who": who}) for who in ("a", "b", OTHER)] == [None, 1, 1]
    assert ours.removed_totals == {"calls_total": 1, "took_count": 1, "took_sum": 1}
    assert (value("size", {"who": "a"}), value("size", {"who": OTHER})) == (None, 4)
    assert ours.epoch == 1


def test_a_family_has_no_more_series_than_it_may() -> None:
    ours, registry = store(max_series=2)
    calls, size = Counter(ours, "calls", "Calls.", ("who",)), Gauge(ours, "size", "Size.", ("who",))
    for who in "abcd":
        calls.labels(who).inc()
        size.labels(who).set(1)
    value = registry.get_sample_value
    assert [value("calls_total", {"who": who}) for who in ("a", "b", "c", OTHER)] == [1, 1, None, 2]
    assert [value("size", {"who": who}) for who in ("a", "b", "c", OTHER)] == [1, 1, None, None]


def test_what_is_no_number_is_in_no_bucket() -> None:
    ours, _ = store()
    series = Histogram(ours, "took", "Took.", buckets=BUCKETS).get_or_create(())
    assert isinstance(series, HistogramSeries)
    series.observe(math.nan)
    assert sum(series.counts) == 0


def test_what_goes_beyond_takes_no_place_and_stays() -> None:
    ours, registry = store(max_series=2)
    calls = Counter(ours, "calls", "Calls.", ("who",))
    for who in "abc":
        calls.labels(who).inc()
    calls.get_or_create((OTHER,)).updated_at = 0.0
    calls.expire(1.0, 1.0)
    calls.remove_series(("a",))
    calls.labels("d").inc()
    value = registry.get_sample_value
    assert [value("calls_total", {"who": who}) for who in ("b", "d", OTHER)] == [1, 1, 1]


def test_who_shares_the_places_decides() -> None:
    ours, registry = store(max_series=1)
    ours.admits = lambda family, labels: (family.name, labels) == ("calls", ("b",))
    calls = Counter(ours, "calls", "Calls.", ("who",))
    for who in "abb":
        calls.labels(who).inc()
    value = registry.get_sample_value
    assert [value("calls_total", {"who": who}) for who in ("a", "b", OTHER)] == [None, 2, 1]


WRONG: list[tuple[type, str, tuple[str, ...], dict[str, Any]]] = [
    (Histogram, "took", (), {"buckets": (2.0, 1.0)}),
    (Histogram, "took", ("who",), {"buckets": ()}),
    (Histogram, "took", ("who",), {"buckets": (math.inf,)}),
    (Histogram, "took", ("le",), {}),
    (Counter, "calls", ("__who",), {}),
    (Gauge, "size", ("who",), {"multiprocess_mode": "lately"}),
    (Gauge, "", (), {}),
]


@pytest.mark.parametrize(("kind", "name", "names", "options"), WRONG)
def test_what_the_client_refuses_is_refused_in_its_words(
    kind: type, name: str, names: tuple[str, ...], options: dict[str, Any]
) -> None:
    ours, registry = store()
    with pytest.raises(ValueError) as theirs:  # noqa: PT011 - whatever it says
        getattr(prometheus_client, kind.__name__)(name, "Help.", names, registry=None, **options)
    with pytest.raises(ValueError) as mine:  # noqa: PT011
        kind(ours, name, "Help.", names, **options)
    assert str(mine.value) == str(theirs.value)
    assert not list(registry.collect())
