"""A world for the tests of budgets: a clock that only they move, repeatable chance, a server that is a dictionary."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from litellm_evenkeel.budgets import Budget, BudgetCache, BudgetEntity, BudgetSettings, Source
from litellm_evenkeel.budgets.budget import absent
from litellm_evenkeel.budgets.loader import Loader
from litellm_evenkeel.budgets.source import GuardedCache, GuardedSource
from litellm_evenkeel.budgets.stats import SourceFailures
from litellm_evenkeel.support.circuit_breaker import CircuitBreaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from litellm_evenkeel.budgets import Entity

PATIENCE = 0.05


class Server:
    """A budget source that can be made to fail, or to have no budgets."""

    def __init__(self, clock: Callable[[], float], source: Source, *, is_final: bool) -> None:
        self.rows: dict[Entity, tuple[float | None, float]] = {}
        self.asked: list[list[Entity]] = []
        self.stored: dict[Entity, Budget] = {}
        self.error: Exception | None = None
        self.lets = asyncio.Event()
        self.lets.set()
        self.dropped = 0
        self.is_closed = False
        self.at_once = 0
        self.most_at_once = 0
        self.ready = True
        self._clock, self._source, self._is_final = clock, source, is_final

    def is_ready(self) -> bool:
        return self.ready

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        self.asked.append(list(entities))
        as_of = self._clock()
        await self._suffer()
        found = {one: self.budget(one, as_of) for one in entities if one in self.rows}
        if not self._is_final:
            return {**found, **{one: self.stored[one] for one in entities if one in self.stored}}
        return {one: found.get(one) or absent(as_of, self._source) for one in entities}

    async def store(self, found: Mapping[Entity, Budget]) -> None:
        await self._suffer()
        self.stored.update(found)

    def budget(self, entity: Entity, as_of: float) -> Budget:
        maximum, spend = self.rows[entity]
        return Budget(
            as_of, self._source, maximum=maximum, spend=spend, is_unlimited=maximum is None, never_resets=True
        )

    def drop(self) -> None:
        self.dropped += 1

    async def close(self) -> None:
        self.is_closed = True

    async def _suffer(self) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            await self.lets.wait()
            if self.error:
                raise self.error
        finally:
            self.at_once -= 1


class World:
    """Budgets, and all that is around them."""

    def __init__(self, *, is_shared: bool = False, **terms: Any) -> None:
        self.now = 1_000_000.0
        self.random = random.Random(7).random
        self.settings = BudgetSettings(**terms)
        self.database = Server(self.clock, Source.POSTGRES, is_final=True)
        self.shared = Server(self.clock, Source.REDIS, is_final=False)
        self.failures = SourceFailures(self.clock)
        self.changes: list[tuple[BudgetEntity, str, Budget]] = []
        self.peeked: dict[Entity, Budget] = {}
        self.slept: list[float] = []
        line = GuardedSource(Source.POSTGRES, self.database, PATIENCE, self.failures, self.clock, self.breaker())
        shared = GuardedCache(Source.REDIS, self.shared, PATIENCE, self.failures, self.clock, self.breaker())
        self.loader = Loader(
            line,
            shared if is_shared else None,
            self.failures,
            max_waiting=self.settings.max_entries,
            clock=self.clock,
            sleep=self.sleep,
        )
        self.budgets = BudgetCache(
            self.settings,
            self.failures,
            self.loader,
            peek=lambda kind, who: self.peeked.get((kind, who)),
            listener=lambda kind, who, budget: self.changes.append((kind, who, budget)),
            random=self.random,
        )

    def breaker(self) -> CircuitBreaker:
        return CircuitBreaker(self.random, max_pause=self.settings.ttl)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Time passes when the loader waits for it, and never otherwise."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def get(self, kind: BudgetEntity, who: str) -> Budget | None:
        return self.budgets.get(kind, who, self.now)

    async def settle(self) -> None:
        """Wait until no lookup is in flight."""
        async with asyncio.timeout(20):
            while self.loader.waiting:
                await asyncio.sleep(0)
        # Updates of listeners come after that.
        for _ in range(10):
            await asyncio.sleep(0)

    async def known(self, kind: BudgetEntity, who: str) -> Budget | None:
        self.get(kind, who)
        await self.settle()
        return self.get(kind, who)


@pytest.fixture(scope="session")
def world_type() -> type[World]:
    return World


@pytest.fixture
async def make_world() -> AsyncIterator[Callable[..., World]]:
    made: list[World] = []

    def make(**terms: Any) -> World:
        made.append(World(**terms))
        return made[-1]

    yield make
    for one in made:
        await one.budgets.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
