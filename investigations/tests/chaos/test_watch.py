"""Metrics of the plugin that are read during a fault."""

from __future__ import annotations

import pytest

from evenkeel_lab.chaos.watch import PICKS, Samples, changed, pick_p99


def buckets(counts: dict[str, float]) -> Samples:
    return {(PICKS, (("le", bound),)): count for bound, count in counts.items()}


def test_a_metric_has_changed_if_a_sample_is_new_or_has_another_value() -> None:
    before: Samples = {("a", ()): 1.0, ("b", (("x", "1"),)): 2.0}
    assert not changed(before, before, "a")
    assert changed(before, {("a", ()): 0.0}, "a")
    assert changed(before, {("b", (("x", "2"),)): 0.0}, "b")
    assert not changed(before, {("a", ()): 0.0}, "b")


@pytest.mark.parametrize(
    ("after", "p99"),
    [
        ({"0.001": 1000, "0.0025": 1000, "+Inf": 1000}, 0.001),
        ({"0.001": 980, "0.0025": 999, "+Inf": 1000}, 0.0025),
        ({"0.001": 500, "0.0025": 500, "+Inf": 1000}, float("inf")),
        ({"0.001": 0, "0.0025": 0, "+Inf": 0}, None),
        ({}, None),
    ],
)
def test_the_p99_of_picks_is_the_bound_of_its_bucket(after: dict[str, float], p99: float | None) -> None:
    assert pick_p99({}, buckets(after)) == p99


def test_picks_of_before_the_cell_do_not_count() -> None:
    before = buckets({"0.001": 0, "0.0025": 1000, "+Inf": 1000})
    assert pick_p99(before, buckets({"0.001": 100, "0.0025": 1100, "+Inf": 1100})) == 0.001
