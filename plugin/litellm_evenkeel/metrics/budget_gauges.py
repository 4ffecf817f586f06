"""Budgets as LiteLLM's gauges show them: what is left, of how much, and for how many hours.

What is not known is not there. LiteLLM would say that nothing was spent, or that there is no end to it.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.budgets import Budget, BudgetEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from litellm_evenkeel.metrics.registry.children import Labels
    from litellm_evenkeel.metrics.registry.families import Family

HOUR_SECONDS = 3600.0
NOTHING = (None, None, None)
NAMES = {
    BudgetEntity.KEY: "api_key",
    BudgetEntity.TEAM: "team",
    BudgetEntity.USER: "user",
    BudgetEntity.ORG: "org",
    BudgetEntity.CUSTOMER: "customer",
}
# The label that has the id, and the labels that have the names; a name that nobody gave is empty, as with LiteLLM.
IDS = {
    BudgetEntity.KEY: "hashed_api_key",
    BudgetEntity.TEAM: "team",
    BudgetEntity.USER: "user",
    BudgetEntity.ORG: "org_id",
    BudgetEntity.CUSTOMER: "end_user",
}
ALIASES = {
    BudgetEntity.KEY: "api_key_alias",
    BudgetEntity.TEAM: "team_alias",
    BudgetEntity.USER: "user_alias",
    BudgetEntity.ORG: "org_alias",
}


class BudgetGauges:
    """Shows budgets in the families that LiteLLM has made for them, of those that are wanted.

    `always` are labels that all of them have: no budget has the tags of a request.
    """

    def __init__(
        self,
        families: Mapping[str, Family],
        cleaned: Callable[[Any], Any],
        clock: Callable[[], float],
        always: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._cleaned, self._clock, self._always = cleaned, clock, always
        self._gauges = {
            kind: [
                families.get(f"litellm_remaining_{name}_budget_metric"),
                families.get(f"litellm_{name}_max_budget_metric"),
                families.get(f"litellm_{name}_budget_remaining_hours_metric"),
            ]
            for kind, name in NAMES.items()
        }
        self._shown: dict[tuple[BudgetEntity, str], tuple[Labels | None, ...]] = {}
        self._ends: dict[tuple[BudgetEntity, str], float] = {}

    def has(self, kind: BudgetEntity) -> bool:
        """Return whether budgets of a kind are shown at all."""
        return any(gauge is not None for gauge in self._gauges.get(kind, ()))

    def show(self, kind: BudgetEntity, who: str, budget: Budget) -> None:
        """Show what is known of a budget."""
        gauges = self._gauges.get(kind)
        if gauges is None:
            return
        ends, now = budget.resets_at if budget.exists else None, self._clock()
        if ends is not None and ends <= now:
            # Over, and nobody has said yet when the next one ends.
            ends = None
        values = (
            budget.remaining if budget.exists else None,
            budget.maximum if budget.exists else None,
            None if ends is None else (ends - now) / HOUR_SECONDS,
        )
        before = self._shown.get((kind, who), NOTHING)
        shown = tuple(
            [
                None if gauge is None or value is None else self._labels(kind, who, budget, gauge)
                for gauge, value in zip(gauges, values, strict=True)
            ]
        )
        for gauge, former, labels, value in zip(gauges, before, shown, values, strict=True):
            if gauge is None:
                continue
            if former is not None and former != labels:
                gauge.remove_child(former)
            if labels is not None and value is not None:
                gauge.child(labels).set(value)
        if values == NOTHING:
            self._shown.pop((kind, who), None)
        else:
            self._shown[kind, who] = shown
        if ends is None:
            self._ends.pop((kind, who), None)
        else:
            self._ends[kind, who] = ends

    def update_hours_left(self) -> Iterator[None]:
        """Show how many hours are left now; yields after each. Of a budget that is over, nothing is known."""
        now = self._clock()
        for (kind, who), ends in list(self._ends.items()):
            gauge, labels = self._gauges[kind][2], self._shown.get((kind, who), NOTHING)[2]
            child = None if gauge is None or labels is None else gauge.children.get(labels)
            if child is not None and child.value is not None:
                # When it was heard of stays: what another worker has heard since is the latest word.
                child.value = (ends - now) / HOUR_SECONDS if ends > now else None
            yield

    def touch(self, kind: BudgetEntity, who: str, now: float) -> bool:
        """Know that a budget was heard of, though nothing has changed; return whether all of it is still there."""
        is_there = True
        for gauge, labels in zip(self._gauges.get(kind, ()), self._shown.get((kind, who), NOTHING), strict=False):
            if gauge is None or labels is None:
                continue
            child = gauge.children.get(labels)
            if child is None:
                # It was silent for so long that it was let go.
                is_there = False
            else:
                child.updated_at = now
        return is_there

    def _labels(self, kind: BudgetEntity, who: str, budget: Budget, gauge: Family) -> Labels:
        told = {**self._always, IDS[kind]: who, ALIASES.get(kind, ""): budget.alias or ""}
        if kind is BudgetEntity.USER:
            told["user_email"] = budget.email or ""
        return tuple([str(self._cleaned(told.get(name))) for name in gauge.labelnames])


def remaining_budget(limit: float | None, spend: float | None) -> float | None:
    """Return what is left of a provider's budget; None if nobody knows."""
    if limit is None or spend is None or not math.isfinite(limit - spend):
        return None
    return limit - spend
