"""Looks budgets up: gathers whom to ask about while a question is under way, and asks one question at a time.

Whoever is asked about stays so until there is an answer: when a server comes back, so do values, by themselves.
"""

from __future__ import annotations

import asyncio
import math
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from litellm_evenkeel.budgets.budget import Budget, Entity, Source
    from litellm_evenkeel.budgets.source import GuardedCache, GuardedSource
    from litellm_evenkeel.budgets.stats import SourceFailures
    from litellm_evenkeel.support.circuit_breaker import BreakerState

# What is answered in one go holds the loop up for a moment, and requests are served by it.
AT_ONCE = 500
# Questions begin at least so far apart, unless there is enough for a whole one: of customers whom nobody knows, there
# may be thousands a second.
GATHERED_SECONDS = 0.1
# No id of LiteLLM's is longer. Those of customers are whatever a client writes.
LONGEST_ID = 512
# So many are told before others have their turn.
TOLD_AT_ONCE = 100


class Loader:
    """One worker's. It is used on one event loop, and asks nothing before somebody wants something."""

    def __init__(
        self,
        database: GuardedSource,
        shared: GuardedCache | None,
        failures: SourceFailures,
        *,
        most: int,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._database, self._shared, self._failures = database, shared, failures
        self._most, self._clock, self._sleep = most, clock, sleep
        self._wanted: dict[Entity, None] = {}
        self._wake = asyncio.Event()
        self._asks_at = -math.inf
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False
        self._learned: Callable[[Entity, Budget], None] = lambda *_: None
        self.rejected = 0

    def on_loaded(self, learned: Callable[[Entity, Budget], None]) -> None:
        """Tell what is found from now on; whoever is told may not take long."""
        self._learned = learned

    def ask(self, entity: Entity) -> bool:
        """Have somebody looked up, some time soon; return whether that was being done already."""
        if entity in self._wanted:
            return True
        if len(self._wanted) >= self._most or self._is_closed or not _may_be_there(entity[1]):
            self.rejected += 1
            return False
        self._wanted[entity] = None
        if self._database.breaker.is_open:
            self._failures.record_skipped((entity,), self._database.source)
        if self._worker is None or self._worker.done():
            self._wake = asyncio.Event()
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="evenkeel: budgets")
        self._wake.set()
        return False

    @property
    def waiting(self) -> int:
        """How many are being asked about."""
        return len(self._wanted)

    @property
    def statements(self) -> int:
        """How many questions the database was asked."""
        return self._database.asked

    def breaker_states(self) -> Mapping[Source, BreakerState]:
        """Say how it stands with the servers."""
        lines = (self._database,) if self._shared is None else (self._shared, self._database)
        return {line.source: line.breaker.state(self._clock()) for line in lines}

    async def close(self) -> None:
        """Give up what is under way, and let go of the servers."""
        self._is_closed = True
        if self._worker:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        self._wanted.clear()
        for line in (self._database, self._shared):
            if line:
                await line.close()

    async def _work(self) -> None:
        while True:
            if not self._wanted:
                self._wake.clear()
                await self._wake.wait()
            asks_at = self._database.breaker.retry_at
            if len(self._wanted) < AT_ONCE:
                asks_at = max(asks_at, self._asks_at)
            now = self._clock()
            if now < asks_at:
                await self._sleep(asks_at - now)
            else:
                self._asks_at = now + GATHERED_SECONDS
                await self._load(list(islice(self._wanted, AT_ONCE)))

    async def _load(self, entities: list[Entity]) -> None:
        found = await self._from_shared(entities)
        rest = [entity for entity in entities if entity not in found]
        await self._tell(found)
        if not rest:
            return
        answered = await self._database.fetch(rest)
        if answered is None:
            # Others first: it may be one of these that makes trouble.
            for entity in rest:
                del self._wanted[entity]
                self._wanted[entity] = None
            return
        await self._tell(answered)
        for entity in rest:
            self._wanted.pop(entity, None)
        if self._shared and self._shared.is_due:
            await self._shared.store(answered)

    async def _from_shared(self, entities: list[Entity]) -> Mapping[Entity, Budget]:
        if self._shared is None:
            return {}
        if not self._shared.is_due:
            if self._shared.breaker.is_open:
                self._failures.record_skipped(entities, self._shared.source)
            return {}
        return await self._shared.fetch(entities) or {}

    async def _tell(self, found: Mapping[Entity, Budget]) -> None:
        for place, (entity, budget) in enumerate(found.items(), 1):
            self._wanted.pop(entity, None)
            try:
                self._learned(entity, budget)
            except Exception as error:  # noqa: BLE001 - somebody's who listens; the next are to hear of theirs all the same
                self._failures.record((entity[0],), budget.source, error)
            if place % TOLD_AT_ONCE == 0:
                await asyncio.sleep(0)


def _may_be_there(who: str) -> bool:
    """Say whether a table may hold an id: one that none can would fail all that are asked about with it."""
    if len(who) > LONGEST_ID or "\0" in who:
        return False
    try:
        who.encode()
    except UnicodeEncodeError:
        return False
    return True
