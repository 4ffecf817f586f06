from __future__ import annotations

import math

import pytest

from evenkeel_lab.bench.prometheus_callback import metrics
from evenkeel_lab.bench.prometheus_callback.blocking_delay import Delay, added_delay_ms
from evenkeel_lab.bench.prometheus_callback.costs import Cost, Costs
from evenkeel_lab.bench.prometheus_callback.differential import Comparison
from evenkeel_lab.bench.prometheus_callback.high_cardinality import LargeScrape
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind

ROUNDS = {"noop": [10.0, 20.0, 10.0], "stock": [810.0, 1620.0, 1010.0], "evenkeel": [90.0, 180.0, 60.0]}


def test_the_event_loop_is_subtracted_and_ratios_are_taken_round_by_round() -> None:
    cost = Cost.from_rounds(ROUNDS)
    assert cost.stock == 1000.0
    assert cost.ours == 80.0
    assert cost.ratio == pytest.approx(10.0)


def test_a_bound_holds_for_the_worst_version_and_for_all_differences() -> None:
    good, bad = Cost(1000, 80, 12.5), Cost(1000, 200, 5.0)
    costs = [Costs("1.0.0", good, good, good), Costs("2.0.0", bad, good, good)]
    lost = Difference(Kind.SERIES_MISSING, "litellm_spend_metric")
    comparisons = {
        "1.0.0": [Comparison("none", 100, 50, [], [])],
        "2.0.0": [Comparison("tags", 100, 50, [lost], [lost])],
    }
    scrapes = LargeScrape(50_000, 4.5, 250, 0), LargeScrape(500, 16, 900, 0)
    delays = [Delay("none", 2.0, 0), Delay("dead", 2.5, 10), Delay("hanging", 3.5, 10)]
    by_name = {metric.name: metric for metric in metrics(costs, comparisons, *scrapes, delays)}
    assert by_name["cpu_us_per_event"].value == 200
    assert not by_name["cpu_ratio_stock"].ok
    assert by_name["alloc_ratio_stock"].ok
    assert not by_name["undocumented_differences"].ok
    assert "2.0.0, tags" in str(by_name["undocumented_differences"].reference)
    assert by_name["scrape_50k_users_mib"].ok
    assert by_name["scrape_50k_users_ms"].ok
    assert by_name["scrape_50k_users_lost"].ok
    assert by_name["dead_postgres_delay_ms"].value == 1.5


def test_without_a_failed_lookup_the_added_delay_is_infinite() -> None:
    assert added_delay_ms([Delay("none", 2.0, 0), Delay("dead", 1.0, 3), Delay("hanging", 1.0, 3)]) == 0
    assert added_delay_ms([Delay("none", 2.0, 0), Delay("dead", 2.0, 0), Delay("hanging", 2.0, 3)]) == math.inf
