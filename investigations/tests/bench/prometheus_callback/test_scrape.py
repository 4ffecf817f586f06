from __future__ import annotations

import math

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from evenkeel_lab.bench.prometheus_callback.scrape import Kind, compared, same


def scrape(
    *,
    amount: float = 1.0,
    team: str = "crew",
    about: str = "Requests.",
    labels: tuple[str, ...] = ("team",),
    lag: float = 0.3,
) -> str:
    registry = CollectorRegistry()
    requests = Counter("requests", about, labels, registry=registry)
    requests.labels(*(team for _ in labels)).inc(amount)
    Gauge("left", "What is left.", registry=registry).set(math.inf)
    Histogram("lag", "How late.", buckets=(0.1, 1.0), registry=registry).observe(lag)
    return generate_latest(registry).decode()


def kinds(first: str, second: str) -> list[tuple[Kind, str]]:
    return [(one.kind, one.family) for one in compared(first, second) if not one.family.endswith("_created")]


def test_what_is_the_same_differs_in_nothing_but_when_it_was_made() -> None:
    assert kinds(scrape(), scrape()) == []


def test_a_value_is_told_with_its_series() -> None:
    (found,) = (one for one in compared(scrape(amount=2), scrape(amount=3)) if not one.family.endswith("_created"))
    assert str(found) == 'value requests requests_total{team="crew"}: 2.0 here, 3.0 there'
    assert found.values == (2.0, 3.0)


def test_another_series_is_one_that_is_missing_and_one_that_is_extra() -> None:
    found = kinds(scrape(team="crew"), scrape(team="cooks"))
    assert found == [(Kind.SERIES_EXTRA, "requests"), (Kind.SERIES_MISSING, "requests")]


def test_other_labels_are_told_once_and_not_series_by_series() -> None:
    assert kinds(scrape(), scrape(labels=("team", "user"))) == [(Kind.LABELS, "requests")]


def test_a_histogram_s_buckets_are_compared() -> None:
    found = kinds(scrape(lag=0.05), scrape(lag=0.3))
    assert found == [(Kind.VALUE, "lag")] * 2


def test_families_types_and_helps_are_compared() -> None:
    other = scrape(about="Other.").replace("# TYPE left gauge", "# TYPE left untyped")
    assert kinds(scrape(), other) == [(Kind.TYPE, "left"), (Kind.HELP, "requests")]
    without = "".join(line for line in scrape().splitlines(keepends=True) if "left" not in line)
    assert kinds(scrape(), without) == [(Kind.FAMILY_MISSING, "left")]
    assert kinds(without, scrape()) == [(Kind.FAMILY_EXTRA, "left")]


@pytest.mark.parametrize(
    ("here", "there", "are"),
    [
        (0.1 + 0.2, 0.3, True),
        (1e9, 1e9 + 2, False),
        (0.0, 1e-12, True),
        (math.inf, math.inf, True),
        (math.nan, math.nan, True),
        (math.nan, 0.0, False),
        (math.inf, 1.0, False),
    ],
)
def test_values_are_the_same_but_for_the_order_of_their_summands(here: float, there: float, *, are: bool) -> None:
    assert same(here, there) is are


def test_a_worker_that_is_named_is_told_and_the_values_are_compared_all_the_same() -> None:
    here, there = 'up{pid="7",x="a"} 1\nup{pid="7",x="b"} 2\n', 'up{x="a"} 1\nup{x="b"} 3\n'
    found = list(compared(f"# TYPE up gauge\n{here}", f"# TYPE up gauge\n{there}"))
    assert [(one.kind, one.first, one.second) for one in found] == [
        (Kind.LABELS, "pid, x", "x"),
        (Kind.VALUE, "2", "3"),
    ]
