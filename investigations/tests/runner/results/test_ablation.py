"""Ablation of simulated arms with known parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.ablation import Attribution, attribute
from evenkeel_lab.runner.schedule import schedule

PAIRS = 12
OFF, BUDGETS, METRICS = 100.0, 20.0, 5.0


def investigation(**changed: Any) -> Investigation:
    told: dict[str, Any] = {
        "title": "A case",
        "question": "What is it made of?",
        "hypothesis": "Of two parts.",
        "baseline": "off",
        "arms": {name: {"about": name} for name in ("off", "on", "no-budgets", "no-metrics")},
        "figures": {"p50": {"margin": 0.05, "primary": True}},
        "ablation": {
            "full": "on",
            "switches": {
                "budgets": {"about": "no budgets", "arm": "no-budgets"},
                "metrics": {"about": "no metrics", "arm": "no-metrics"},
            },
        },
    }
    return Investigation.model_validate(told | changed)


def found(
    values: dict[str, float], noise: float = 1.0, limited: tuple[str, ...] = (), **changed: Any
) -> Attribution | None:
    source = np.random.default_rng(1)
    describe_bound = investigation(**changed)
    done = {
        one.name: [
            Run(arm, 0, 1.0, 100, {"p50": values.get(arm, OFF) + source.normal(0, noise)}, limited=limited)
            for arm in one.arms
        ]
        for one in schedule(describe_bound, PAIRS)
    }
    return attribute(describe_bound, done, PAIRS, "p50")


def test_the_parts_of_a_cost_are_found_with_their_shares() -> None:
    told = found({"on": OFF + BUDGETS + METRICS, "no-budgets": OFF + METRICS, "no-metrics": OFF + BUDGETS})
    assert told is not None
    assert told.total.low < BUDGETS + METRICS < told.total.high
    budgets, metrics = told.pieces
    assert budgets.cost.low < BUDGETS < budgets.cost.high
    assert budgets.left is not None
    assert budgets.left.low < METRICS < budgets.left.high
    assert budgets.share is not None
    assert budgets.share.low < 0.8 < budgets.share.high
    assert metrics.cost.low < METRICS < metrics.cost.high
    assert told.rest is not None
    assert told.rest.cost.low < 0 < told.rest.cost.high


def test_what_two_switches_share_is_a_rest_below_zero() -> None:
    told = found({"on": OFF + BUDGETS, "no-budgets": OFF, "no-metrics": OFF})
    assert told is not None
    assert told.rest is not None
    assert told.rest.cost.high < 0


def test_parts_may_be_measured_alone_and_the_rest_is_what_they_cost_together() -> None:
    arms = {"budgets": "no-budgets", "metrics": "no-metrics"}
    switches = {name: {"about": name, "arm": arm, "alone": True} for name, arm in arms.items()}
    together = 10.0
    told = found(
        {"on": OFF + BUDGETS + METRICS + together, "no-budgets": OFF + BUDGETS, "no-metrics": OFF + METRICS},
        ablation={"full": "on", "switches": switches},
    )
    assert told is not None
    budgets, metrics = told.pieces
    assert budgets.cost.low < BUDGETS < budgets.cost.high
    assert metrics.cost.low < METRICS < metrics.cost.high
    assert budgets.left is None
    assert told.rest is not None
    assert told.rest.cost.low < together < told.rest.cost.high


def test_a_cost_that_may_be_none_has_no_shares() -> None:
    told = found({}, noise=10.0)
    assert told is not None
    assert all(piece.share is None for piece in told.pieces)


def test_without_valid_pairs_nothing_is_attributed() -> None:
    assert found({"on": OFF + BUDGETS}, limited=("late",)) is None


@pytest.mark.parametrize("arm", ["off", "on", "no-metrics"])
def test_the_arms_of_an_ablation_differ(arm: str) -> None:
    switches = {"budgets": {"about": "x", "arm": arm}, "metrics": {"about": "y", "arm": "no-metrics"}}
    with pytest.raises(ValueError, match="must be different arms"):
        investigation(ablation={"full": "on", "switches": switches})
