"""Budgets as gauges: what is known is there, what is over is not, and what another worker knows better stays so."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from litellm_evenkeel.budgets import Budget, BudgetEntity, Source
from litellm_evenkeel.metrics.budget_gauges import HOUR_SECONDS, BudgetGauges
from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.metric_types import Gauge

NAMES = ("litellm_remaining_team_budget_metric", "litellm_team_max_budget_metric")
HOURS = "litellm_team_budget_remaining_hours_metric"
TEAM = {"team": "t", "team_alias": ""}


class World:
    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.registry = CollectorRegistry()
        store = MetricStore(self.registry)
        for name in (*NAMES, HOURS):
            Gauge(store, name, "It.", ("team", "team_alias"))
        self.hours, self.remaining = store.families[HOURS], store.families[NAMES[0]]
        self.gauges = BudgetGauges(store.families, str, lambda: self.now)

    def show(self, resets_in: float | None) -> None:
        resets_at = None if resets_in is None else self.now + resets_in
        self.gauges.show(BudgetEntity.TEAM, "t", Budget(self.now, Source.POSTGRES, 10.0, 4.0, resets_at))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for _ in self.gauges.update_hours_left():
            pass

    def value(self, name: str = HOURS) -> float | None:
        return self.registry.get_sample_value(name, TEAM)


@pytest.fixture
def world() -> World:
    return World()


def test_hours_go_by_and_what_is_over_is_not_known(world: World) -> None:
    world.show(2 * HOUR_SECONDS)
    world.pass_time(HOUR_SECONDS)
    assert world.value() == pytest.approx(1.0)
    world.pass_time(2 * HOUR_SECONDS)
    assert (world.value(), world.value(NAMES[0])) == (None, 6.0)
    world.show(5 * HOUR_SECONDS)
    assert world.value() == pytest.approx(5.0)


def test_who_was_let_go_is_told_as_not_there(world: World) -> None:
    world.show(None)
    assert world.gauges.touch(BudgetEntity.TEAM, "t", world.now)
    # An entity without gauges has nothing to remove.
    assert world.gauges.touch(BudgetEntity.TEAM, "absent", world.now)
    world.remaining.expire(world.now + 1, world.now + 1)
    assert world.value(NAMES[0]) is None
    assert not world.gauges.touch(BudgetEntity.TEAM, "t", world.now)
    world.show(None)
    assert world.value(NAMES[0]) == 6.0


def test_a_reset_that_is_over_already_is_not_shown(world: World) -> None:
    world.show(-1.0)
    assert (world.value(), world.value(NAMES[0]), world.value(NAMES[1])) == (None, 6.0, 10.0)


def test_that_time_has_passed_is_no_news(world: World) -> None:
    # Of several workers, the one that heard of a budget last tells of it.
    world.show(2 * HOUR_SECONDS)
    (series,) = world.hours.series.values()
    heard = series.updated_at
    world.pass_time(HOUR_SECONDS)
    assert series.updated_at == heard
    world.gauges.touch(BudgetEntity.TEAM, "t", heard + 9.0)
    assert series.updated_at == heard + 9.0


def test_of_whom_nothing_is_shown_nothing_is_touched(world: World) -> None:
    world.gauges.touch(BudgetEntity.TEAM, "t", 1.0)
    world.gauges.touch(BudgetEntity.PROVIDER, "p", 1.0)
    assert (
        world.gauges.has(BudgetEntity.TEAM),
        world.gauges.has(BudgetEntity.KEY),
        world.gauges.has(BudgetEntity.PROVIDER),
    ) == (
        True,
        False,
        False,
    )


def test_an_alias_that_changes_leaves_one_series(world: World) -> None:
    world.show(HOUR_SECONDS)
    aliased: dict[str, Any] = {"alias": "crew"}
    world.gauges.show(
        BudgetEntity.TEAM, "t", Budget(world.now, Source.POSTGRES, 10.0, 4.0, world.now + HOUR_SECONDS, **aliased)
    )
    assert world.value() is None
    assert world.registry.get_sample_value(HOURS, {"team": "t", "team_alias": "crew"}) == pytest.approx(1.0)
