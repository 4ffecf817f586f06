"""Background loader of budgets: collects requested entities and looks them up in batches, one batch at a time.

A requested entity stays pending until there is an answer. So budgets recover by themselves when a server comes back.
"""

from __future__ import annotations

import asyncio
import math
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from litellm_evenkeel.budgets.budget import Budget, Entity, Source
    from litellm_evenkeel.budgets.source import BudgetSource, GuardedCache, GuardedSource
    from litellm_evenkeel.budgets.stats import SourceFailures
    from litellm_evenkeel.support.circuit_breaker import BreakerState

# A larger batch would block the event loop, which also serves requests, while its rows are processed.
MAX_BATCH_ENTITIES = 500
# Minimum time between two batches that are not full. Without it, thousands of unknown customers a second would each
# cause a query of their own.
BATCH_INTERVAL_SECONDS = 0.1
# LiteLLM's own ids are shorter. Customer ids are arbitrary client input, so they must be bounded.
MAX_ID_CHARACTERS = 512
# After this number of results, the loader yields to the event loop, so that requests are not held up.
ENTITIES_PER_LOOP_TURN = 100


class Loader:
    """Loader of one worker. Use it on one event loop. It starts no task before the first requested entity."""

    def __init__(
        self,
        database: GuardedSource[BudgetSource],
        shared: GuardedCache | None,
        failures: SourceFailures,
        *,
        max_waiting: int,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._database, self._shared, self._failures = database, shared, failures
        self._max_waiting, self._clock, self._sleep = max_waiting, clock, sleep
        self._pending: dict[Entity, None] = {}
        self._wake = asyncio.Event()
        self._next_batch_at = -math.inf
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.listener: Callable[[Entity, Budget], None] = lambda *_: None
        """Callback for loaded budgets. It must be fast, because it runs on the event loop."""
        self.rejected = 0

    def request(self, entity: Entity) -> bool:
        """Queue a lookup of `entity`. Return whether it was already pending."""
        if entity in self._pending:
            return True
        if len(self._pending) >= self._max_waiting or self._is_closed or not _is_valid_id(entity[1]):
            self.rejected += 1
            return False
        self._pending[entity] = None
        if self._database.breaker.is_open:
            self._failures.record_skipped((entity,), self._database.source)
        if self._task is None or self._task.done():
            self._wake = asyncio.Event()
            self._task = asyncio.get_running_loop().create_task(self._run(), name="evenkeel: budgets")
        self._wake.set()
        return False

    @property
    def waiting(self) -> int:
        """Number of entities whose lookup is pending."""
        return len(self._pending)

    @property
    def statements(self) -> int:
        """Number of queries that were sent to the database."""
        return self._database.calls

    def breaker_states(self) -> Mapping[Source, BreakerState]:
        """Return the circuit breaker state of each source in use."""
        sources = (self._database,) if self._shared is None else (self._shared, self._database)
        return {source.source: source.breaker.state(self._clock()) for source in sources}

    async def close(self) -> None:
        """Cancel pending lookups and close the connections."""
        self._is_closed = True
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._pending.clear()
        for source in (self._database, self._shared):
            if source:
                await source.close()

    async def _run(self) -> None:
        while True:
            if not self._pending:
                self._wake.clear()
                await self._wake.wait()
            start_at = self._database.breaker.retry_at
            if len(self._pending) < MAX_BATCH_ENTITIES:
                start_at = max(start_at, self._next_batch_at)
            now = self._clock()
            if now < start_at:
                await self._sleep(start_at - now)
            else:
                self._next_batch_at = now + BATCH_INTERVAL_SECONDS
                await self._load(list(islice(self._pending, MAX_BATCH_ENTITIES)))

    async def _load(self, entities: list[Entity]) -> None:
        budgets = await self._fetch_shared(entities)
        missing = [entity for entity in entities if entity not in budgets]
        await self._deliver(budgets)
        if not missing:
            return
        loaded = await self._database.fetch(missing)
        if loaded is None:
            # Move these entities behind the others: one of them may be what makes the query fail.
            for entity in missing:
                del self._pending[entity]
                self._pending[entity] = None
            return
        await self._deliver(loaded)
        for entity in missing:
            self._pending.pop(entity, None)
        if self._shared and self._shared.may_call:
            await self._shared.store(loaded)

    async def _fetch_shared(self, entities: list[Entity]) -> Mapping[Entity, Budget]:
        if self._shared is None:
            return {}
        if not self._shared.may_call:
            if self._shared.breaker.is_open:
                self._failures.record_skipped(entities, self._shared.source)
            return {}
        return await self._shared.fetch(entities) or {}

    async def _deliver(self, budgets: Mapping[Entity, Budget]) -> None:
        for position, (entity, budget) in enumerate(budgets.items(), 1):
            self._pending.pop(entity, None)
            try:
                self.listener(entity, budget)
            except Exception as error:  # noqa: BLE001 - a listener's error must not keep the other results from being delivered
                self._failures.record((entity[0],), budget.source, error)
            if position % ENTITIES_PER_LOOP_TURN == 0:
                await asyncio.sleep(0)


def _is_valid_id(entity_id: str) -> bool:
    """Return whether a table can hold an id. An invalid one would make the query of its whole batch fail."""
    if len(entity_id) > MAX_ID_CHARACTERS or "\0" in entity_id:
        return False
    try:
        entity_id.encode()
    except UnicodeEncodeError:
        return False
    return True
