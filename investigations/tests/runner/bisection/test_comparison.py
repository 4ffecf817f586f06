"""Comparisons of a release with the good one, with runs that are made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.runner.bisection.comparison import (
    CANDIDATE,
    GOOD,
    PAIRS_PER_BOOT,
    Plan,
    boot_effects,
    random_arrivals,
)
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.schedule import schedule

if TYPE_CHECKING:
    from pathlib import Path


def made_up(arm: str, value: float, limited: tuple[str, ...] = ()) -> Run:
    return Run(arm, start_ns=0, seconds=15.0, requests=400, figures={"cpu_ms": value}, limited=limited)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(
        "1.106.2", "cpu_ms", random_arrivals(rate=20.0, seconds=15.0), tmp_path, lambda release: {"litellm": release}
    )


def test_each_boot_has_an_effect(plan: Plan) -> None:
    wanted = plan.investigation("1.108.7")
    done = {}
    for number, scheduled in enumerate(schedule(wanted, 2)):
        done[scheduled.name] = [made_up(GOOD, 20.0), made_up(CANDIDATE, 20.0 * (1.05, 1.2)[number])]
        assert boot_effects(wanted, done).effects == pytest.approx([0.05, 0.2][: number + 1])
    assert boot_effects(wanted, {}).effects == []


def test_a_boot_without_a_valid_pair_has_no_effect(plan: Plan) -> None:
    wanted = plan.investigation("1.108.7")
    pairs = schedule(wanted, PAIRS_PER_BOOT)
    done = {each.name: [made_up(GOOD, 20.0, ("busy",)), made_up(CANDIDATE, 21.0)] for each in pairs}
    assert boot_effects(wanted, done).effects == []


def test_a_metric_without_values_has_no_effect(plan: Plan) -> None:
    wanted = plan.investigation("1.108.7")
    pairs = schedule(wanted, PAIRS_PER_BOOT)
    done = {each.name: [made_up(GOOD, 20.0), Run(CANDIDATE, 0, 15.0, 400, {})] for each in pairs}
    assert boot_effects(wanted, done).effects == []
