"""Comparisons of a release with the good one, with runs that are made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.bisection.comparison import (
    CANDIDATE,
    GOOD,
    Plan,
    boot_effects,
    random_arrivals,
)
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.schedule import schedule
from evenkeel_lab.stats import Scale

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


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ([made_up(GOOD, 20.0, ("busy",)), made_up(CANDIDATE, 21.0)], "busy"),
        ([made_up(GOOD, 20.0), Run(CANDIDATE, 0, 15.0, 400, {})], "the run is too short for cpu_ms, or has none"),
        ([made_up(GOOD, 0.0), made_up(CANDIDATE, 21.0)], "cpu_ms is 0, of which nothing is a multiple"),
    ],
)
def test_a_boot_that_does_not_count_leaves_the_others(plan: Plan, pair: list[Run], reason: str) -> None:
    wanted = plan.investigation("1.108.7")
    first, second, third = schedule(wanted, 3)
    good = [made_up(GOOD, 20.0), made_up(CANDIDATE, 21.0)]
    done = {first.name: good, second.name: pair}
    assert boot_effects(wanted, done) == BootEffects([pytest.approx(0.05)], Scale.FACTOR, [reason])
    assert boot_effects(wanted, {**done, third.name: good}).invalid == []
