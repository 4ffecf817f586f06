from __future__ import annotations

import math

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind, compare_scrapes, same


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


def differences(first: str, second: str) -> list[Difference]:
    """Return the differences, but for the creation times of series."""
    return [difference for difference in compare_scrapes(first, second) if not difference.family.endswith("_created")]


def kinds(first: str, second: str) -> list[tuple[Kind, str]]:
    return [(difference.kind, difference.family) for difference in differences(first, second)]


def test_equal_scrapes_differ_only_in_creation_times() -> None:
    assert kinds(scrape(), scrape()) == []


def test_a_differing_value_is_shown_with_its_series() -> None:
    (difference,) = differences(scrape(amount=2), scrape(amount=3))
    assert str(difference) == 'value requests requests_total{team="crew"}: 2.0 here, 3.0 there'
    assert difference.values == (2.0, 3.0)


def test_another_series_is_one_missing_and_one_extra() -> None:
    result = kinds(scrape(team="crew"), scrape(team="cooks"))
    assert result == [(Kind.SERIES_EXTRA, "requests"), (Kind.SERIES_MISSING, "requests")]


def test_other_labels_are_one_difference_for_all_series() -> None:
    assert kinds(scrape(), scrape(labels=("team", "user"))) == [(Kind.LABELS, "requests")]


def test_the_buckets_of_a_histogram_are_compared() -> None:
    result = kinds(scrape(lag=0.05), scrape(lag=0.3))
    assert result == [(Kind.VALUE, "lag")] * 2


def test_families_types_and_help_texts_are_compared() -> None:
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
def test_values_are_equal_but_for_the_order_of_summands(here: float, there: float, *, are: bool) -> None:
    assert same(here, there) is are


def test_a_worker_label_is_reported_and_the_values_are_compared_without_it() -> None:
    here, there = 'up{pid="7",x="a"} 1\nup{pid="7",x="b"} 2\n', 'up{x="a"} 1\nup{x="b"} 3\n'
    compared = list(compare_scrapes(f"# TYPE up gauge\n{here}", f"# TYPE up gauge\n{there}"))
    assert [(difference.kind, difference.first, difference.second) for difference in compared] == [
        (Kind.LABELS, "pid, x", "x"),
        (Kind.VALUE, "2", "3"),
    ]
