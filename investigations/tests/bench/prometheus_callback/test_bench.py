from __future__ import annotations

import math

import pytest

from evenkeel_lab.bench.prometheus_callback import metrics
from evenkeel_lab.bench.prometheus_callback.blocking_delay import Stalls, delay
from evenkeel_lab.bench.prometheus_callback.costs import Cost, Costs
from evenkeel_lab.bench.prometheus_callback.differential import Outcome
from evenkeel_lab.bench.prometheus_callback.high_cardinality import Crowded
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind

ROUNDS = {"noop": [10.0, 20.0, 10.0], "stock": [810.0, 1620.0, 1010.0], "evenkeel": [90.0, 180.0, 60.0]}


def test_the_loop_is_taken_away_and_rounds_are_compared_with_themselves() -> None:
    cost = Cost.of(ROUNDS)
    assert cost.stock == 1000.0
    assert cost.ours == 80.0
    assert cost.ratio == pytest.approx(10.0)


def test_a_bound_is_held_to_the_worst_version_and_to_all_differences() -> None:
    good, bad = Cost(1000, 80, 12.5), Cost(1000, 200, 5.0)
    measured = [Costs("1.0.0", good, good, good), Costs("2.0.0", bad, good, good)]
    lost = Difference(Kind.SERIES_MISSING, "litellm_spend_metric")
    outcomes = {"1.0.0": [Outcome("none", 100, 50, [], [])], "2.0.0": [Outcome("tags", 100, 50, [lost], [lost])]}
    crowds = Crowded(50_000, 4.5, 250, 0), Crowded(500, 16, 900, 0)
    waited = [Stalls("none", 2.0, 0), Stalls("dead", 2.5, 10), Stalls("hanging", 3.5, 10)]
    found = {one.name: one for one in metrics(measured, outcomes, *crowds, waited)}
    assert found["cpu_us_per_event"].value == 200
    assert not found["cpu_ratio_stock"].ok
    assert found["alloc_ratio_stock"].ok
    assert not found["undocumented_differences"].ok
    assert "2.0.0, tags" in str(found["undocumented_differences"].reference)
    assert found["scrape_50k_users_mib"].ok
    assert found["scrape_50k_users_ms"].ok
    assert found["scrape_50k_users_lost"].ok
    assert found["dead_postgres_delay_ms"].value == 1.5


def test_where_no_lookup_failed_nothing_is_shown_of_a_dead_postgres() -> None:
    assert delay([Stalls("none", 2.0, 0), Stalls("dead", 1.0, 3), Stalls("hanging", 1.0, 3)]) == 0
    assert delay([Stalls("none", 2.0, 0), Stalls("dead", 2.0, 0), Stalls("hanging", 2.0, 3)]) == math.inf
