"""LiteLLM's gauges of budgets: the remaining amount, the maximum, and the hours until the reset.

An unknown value is not exported. LiteLLM would export a spend of zero, or an unlimited budget.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.budgets import Budget, BudgetEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from litellm_evenkeel.budgets import Entity
    from litellm_evenkeel.metrics.registry.families import Family
    from litellm_evenkeel.metrics.registry.series import Labels

HOUR_SECONDS = 3600.0
NONE_OF_THREE = (None, None, None)
METRIC_NAMES = {
    BudgetEntity.KEY: "api_key",
    BudgetEntity.TEAM: "team",
    BudgetEntity.USER: "user",
    BudgetEntity.ORG: "org",
    BudgetEntity.CUSTOMER: "customer",
}
# The label for the entity's id, and that for its alias; a missing alias is empty, as in LiteLLM.
ID_LABELS = {
    BudgetEntity.KEY: "hashed_api_key",
    BudgetEntity.TEAM: "team",
    BudgetEntity.USER: "user",
    BudgetEntity.ORG: "org_id",
    BudgetEntity.CUSTOMER: "end_user",
}
ALIAS_LABELS = {
    BudgetEntity.KEY: "api_key_alias",
    BudgetEntity.TEAM: "team_alias",
    BudgetEntity.USER: "user_alias",
    BudgetEntity.ORG: "org_alias",
}


class BudgetGauges:
    """Exporter of budgets in the families that LiteLLM created for them; families that are switched off are skipped.

    `constant_labels` are added to every series: LiteLLM has labels for the tags of a request, which no budget has.
    """

    def __init__(
        self,
        families: Mapping[str, Family],
        clean: Callable[[Any], Any],
        clock: Callable[[], float],
        constant_labels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._clean, self._clock, self._constant_labels = clean, clock, constant_labels
        self._gauges = {
            kind: [
                families.get(f"litellm_remaining_{name}_budget_metric"),
                families.get(f"litellm_{name}_max_budget_metric"),
                families.get(f"litellm_{name}_budget_remaining_hours_metric"),
            ]
            for kind, name in METRIC_NAMES.items()
        }
        self._shown: dict[Entity, Sequence[Labels | None]] = {}
        self._resets_at: dict[Entity, float] = {}

    def has(self, kind: BudgetEntity) -> bool:
        """Return whether any gauge for this kind of entity is exported."""
        return any(gauge is not None for gauge in self._gauges.get(kind, ()))

    def show(self, kind: BudgetEntity, entity_id: str, budget: Budget) -> None:
        """Export the known values of a budget, and remove the series of unknown ones."""
        gauges = self._gauges.get(kind)
        if gauges is None:
            return
        resets_at, now = budget.resets_at if budget.exists else None, self._clock()
        if resets_at is not None and resets_at <= now:
            # The budget was reset, and its next reset is not known yet.
            resets_at = None
        hours = None if resets_at is None else (resets_at - now) / HOUR_SECONDS
        values = (budget.remaining, budget.maximum, hours) if budget.exists else NONE_OF_THREE
        old_shown = self._shown.get((kind, entity_id), NONE_OF_THREE)
        shown: list[Labels | None] = [None, None, None]
        for index, (gauge, value) in enumerate(zip(gauges, values, strict=True)):
            if gauge is None:
                continue
            labels = shown[index] = None if value is None else self._labels(kind, entity_id, budget, gauge)
            old_labels = old_shown[index]
            if old_labels is not None and old_labels != labels:
                gauge.remove_series(old_labels)
            if labels is not None and value is not None:
                gauge.get_or_create(labels).set(value)
        if values == NONE_OF_THREE:
            self._shown.pop((kind, entity_id), None)
        else:
            self._shown[kind, entity_id] = shown
        if resets_at is None:
            self._resets_at.pop((kind, entity_id), None)
        else:
            self._resets_at[kind, entity_id] = resets_at

    def update_hours_left(self) -> Iterator[None]:
        """Update the hours until each reset, and hide those of past ones; yield after each budget."""
        now = self._clock()
        for (kind, entity_id), resets_at in list(self._resets_at.items()):
            gauge, labels = self._gauges[kind][2], self._shown.get((kind, entity_id), NONE_OF_THREE)[2]
            series = None if gauge is None or labels is None else gauge.series.get(labels)
            if series is not None and series.value is not None:
                # Its time of update stays: a scrape shows the latest value of all workers, and another worker may
                # have read the budget since.
                series.value = (resets_at - now) / HOUR_SECONDS if resets_at > now else None
            yield

    def touch(self, kind: BudgetEntity, entity_id: str, now: float) -> bool:
        """Mark an unchanged budget's series as updated at `now`. Return `False` if one of them has expired."""
        is_complete = True
        shown = self._shown.get((kind, entity_id), NONE_OF_THREE)
        for gauge, labels in zip(self._gauges.get(kind, ()), shown, strict=False):
            if gauge is None or labels is None:
                continue
            series = gauge.series.get(labels)
            if series is None:
                # It was idle for too long and has expired.
                is_complete = False
            else:
                series.updated_at = now
        return is_complete

    def _labels(self, kind: BudgetEntity, entity_id: str, budget: Budget, gauge: Family) -> Labels:
        values = {**self._constant_labels, ID_LABELS[kind]: entity_id, ALIAS_LABELS.get(kind, ""): budget.alias or ""}
        if kind is BudgetEntity.USER:
            values["user_email"] = budget.email or ""
        return tuple([str(self._clean(values.get(name))) for name in gauge.labelnames])


def remaining_budget(limit: float | None, spend: float | None) -> float | None:
    """Return what remains of a provider's budget in dollars; `None` if unknown."""
    if limit is None or spend is None or not math.isfinite(limit - spend):
        return None
    return limit - spend
