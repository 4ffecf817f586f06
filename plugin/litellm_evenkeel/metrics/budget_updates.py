"""From events, and from rows that LiteLLM reads at times, to gauges of budgets."""

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
    """One worker's. Its methods are called in one loop."""

    def __init__(
        self,
        opened: OpenBudgets,
        families: Mapping[str, Family],
        end_user: Callable[[Raw], str | None],
        cleaned: Callable[[Any], Any],
        clock: Callable[[], float],
        always: Mapping[str, str],
    ) -> None:
        self._end_user, self._clock = end_user, clock
        # When a budget ends is told in the system's own time.
        self._gauges = BudgetGauges(families, cleaned, time.time, always)
        # What nobody sees is not looked up.
        self._shown = frozenset(kind for kind in BudgetEntity if self._gauges.has(kind))
        self._budgets = opened(self._gauges.show, peek)
        self._observations: dict[Entity, BudgetObservation] = {}

    def observe(self, event: Raw) -> None:
        """Keep what an event tells until it is looked up; the latest word on each budget is enough."""
        payload = event["standard_logging_object"]
        told, params = payload["metadata"], event.get("litellm_params") or EMPTY
        shown = self._shown
        ids = RequestOwners(
            told["user_api_key_hash"] if BudgetEntity.KEY in shown else None,
            told["user_api_key_team_id"] if BudgetEntity.TEAM in shown else None,
            told["user_api_key_user_id"] if BudgetEntity.USER in shown else None,
            told.get("user_api_key_org_id") if BudgetEntity.ORG in shown else None,
            self._end_user(params) if BudgetEntity.CUSTOMER in shown else None,
        )
        found = observations(params.get("metadata") or EMPTY, ids, self._clock(), payload["response_cost"] or 0.0)
        for observation in found:
            self._observations[observation.kind, observation.entity_id] = observation

    def refresh(self) -> Iterator[None]:
        """Learn what events have told since the last time, and have the rest looked up; yields after each."""
        found, self._observations = self._observations, {}
        for observation in found.values():
            now = self._clock()
            self._budgets.observe(observation, now)
            if not self._gauges.touch(observation.kind, observation.entity_id, now) and (
                known := self._budgets.known(observation.kind, observation.entity_id)
            ):
                self._gauges.show(observation.kind, observation.entity_id, known)
            yield

    def record_row(
        self,
        kind: BudgetEntity,
        who: str | None,
        spend: float | None,
        maximum: float | None,
        resets_at: datetime | None,
        alias: str | None = None,
        email: str | None = None,
    ) -> None:
        """Know a row of LiteLLM's tables."""
        if not who:
            return
        ends = None if resets_at is None else (resets_at if resets_at.tzinfo else resets_at.replace(tzinfo=UTC))
        budget = Budget(
            as_of=self._clock(),
            source=Source.POSTGRES,
            maximum=maximum,
            spend=spend,
            resets_at=None if ends is None else ends.timestamp(),
            alias=alias,
            email=email,
            is_unlimited=maximum is None,
            never_resets=ends is None,
        )
        self._budgets.record_row(BudgetObservation(kind, who, budget))

    def update_hours_left(self) -> Iterator[None]:
        """Show how many hours are left now; yields now and then."""
        return self._gauges.update_hours_left()

    def record_unreadable(self, error: BaseException) -> None:
        """Know that an event could not be read, with whatever it tells."""
        self._budgets.record_unreadable(error)

    def counts(self) -> BudgetCounts:
        """Return how it goes."""
        return self._budgets.counts(self._clock())
