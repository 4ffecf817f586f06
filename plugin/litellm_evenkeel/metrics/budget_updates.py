"""Updates of budget gauges, from events and from rows that LiteLLM reads occasionally."""

from __future__ import annotations

import time
from datetime import UTC
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.budgets import Budget, BudgetEntity, BudgetObservation, RequestOwners, Source, observations
from litellm_evenkeel.metrics.budget_gauges import BudgetGauges
from litellm_evenkeel.metrics.proxy_caches import peek
from litellm_evenkeel.metrics.replay.event_facts import EMPTY, Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from litellm_evenkeel.budgets import BudgetCache, BudgetCounts, Entity, Listener, Peek
    from litellm_evenkeel.metrics.registry.families import Family

    OpenBudgets = Callable[[Listener, Peek], BudgetCache]


class BudgetUpdater:
    """Updater of one worker. Its methods are called in one event loop."""

    def __init__(
        self,
        open_budgets: OpenBudgets,
        families: Mapping[str, Family],
        end_user: Callable[[Raw], str | None],
        clean: Callable[[Any], Any],
        clock: Callable[[], float],
        constant_labels: Mapping[str, str],
        on_warning: Callable[[], None],
    ) -> None:
        self._end_user, self._clock = end_user, clock
        # Resets are stated in the system's time.
        self.gauges = BudgetGauges(families, clean, time.time, constant_labels)
        # Budgets whose gauges are switched off are not looked up.
        self._kinds = frozenset(kind for kind in BudgetEntity if self.gauges.has(kind))
        self._budgets = open_budgets(self.gauges.show, peek)
        self._budgets.call_on_warning(on_warning)
        self._observations: dict[Entity, BudgetObservation] = {}

    def observe(self, event: Raw) -> None:
        """Keep an event's observations until the next `refresh`. Only the latest one of each budget is needed."""
        kinds = self._kinds
        try:
            payload = event["standard_logging_object"]
            metadata, params = payload["metadata"], event.get("litellm_params") or EMPTY
            owners = RequestOwners(
                metadata["user_api_key_hash"] if BudgetEntity.KEY in kinds else None,
                metadata["user_api_key_team_id"] if BudgetEntity.TEAM in kinds else None,
                metadata["user_api_key_user_id"] if BudgetEntity.USER in kinds else None,
                metadata.get("user_api_key_org_id") if BudgetEntity.ORG in kinds else None,
                self._end_user(params) if BudgetEntity.CUSTOMER in kinds else None,
            )
            cost = payload["response_cost"] or 0.0
            for observation in observations(params.get("metadata") or EMPTY, owners, self._clock(), cost):
                self._observations[observation.kind, observation.entity_id] = observation
        except Exception as error:  # noqa: BLE001 - an event of unexpected form is only counted as such
            self._budgets.record_unreadable(error)

    def refresh(self) -> Iterator[None]:
        """Apply the kept observations, and request a lookup of unknown budgets; yield after each observation."""
        pending, self._observations = self._observations, {}
        for observation in pending.values():
            now = self._clock()
            self._budgets.observe(observation, now)
            if not self.gauges.touch(observation.kind, observation.entity_id, now) and (
                known := self._budgets.known(observation.kind, observation.entity_id)
            ):
                self.gauges.show(observation.kind, observation.entity_id, known)
            yield

    def record_row(
        self,
        kind: BudgetEntity,
        entity_id: str | None,
        spend: float | None,
        maximum: float | None,
        resets_at: datetime | None,
        alias: str | None = None,
        email: str | None = None,
    ) -> None:
        """Record a row of one of LiteLLM's tables."""
        if not entity_id:
            return
        if resets_at is not None and not resets_at.tzinfo:
            resets_at = resets_at.replace(tzinfo=UTC)
        budget = Budget(
            as_of=self._clock(),
            source=Source.POSTGRES,
            maximum=maximum,
            spend=spend,
            resets_at=None if resets_at is None else resets_at.timestamp(),
            alias=alias,
            email=email,
            is_unlimited=maximum is None,
            never_resets=resets_at is None,
        )
        self._budgets.record_row(BudgetObservation(kind, entity_id, budget))

    def counts(self) -> BudgetCounts:
        """Return the counts of lookups and failures."""
        return self._budgets.counts(self._clock())
