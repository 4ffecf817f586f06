"""One server, as whoever loads budgets sees it: asked with a deadline, and left alone while it fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from litellm_evenkeel.budgets.budget import Budget, Entity, Source
    from litellm_evenkeel.budgets.stats import SourceFailures
    from litellm_evenkeel.support.circuit_breaker import CircuitBreaker

T = TypeVar("T")


class BudgetSource(Protocol):
    """A driver. What goes wrong with it is raised."""

    def is_ready(self) -> bool:
        """Say whether it may be asked; if not, it sees to it that it will be."""

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        """Return what it knows of each; what it does not name, it knows nothing of."""

    def drop(self) -> None:
        """Let go of connections that may not answer any more, without waiting for anybody."""

    async def close(self) -> None:
        """Let go of the server; nothing is asked afterwards."""


class WritableBudgetSource(BudgetSource, Protocol):
    """A driver that also keeps what others have found."""

    async def store(self, found: Mapping[Entity, Budget]) -> None:
        """Keep it for others."""


class GuardedSource:
    """A server behind a breaker. Nothing here raises, and nothing lasts longer than `patience`."""

    def __init__(
        self,
        source: Source,
        lookup: BudgetSource,
        patience: float,
        failures: SourceFailures,
        clock: Callable[[], float],
        breaker: CircuitBreaker,
    ) -> None:
        self.source, self.breaker = source, breaker
        self.asked = 0
        self._lookup, self._patience, self._failures, self._clock = lookup, patience, failures, clock

    @property
    def is_due(self) -> bool:
        """Whether it may be asked: its last failure was long enough ago."""
        return self._clock() >= self.breaker.retry_at

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget] | None:
        """Return what it knows of each, None if it has failed or is not ready."""
        return await self._do(entities, lambda: self._lookup.fetch(entities))

    async def _do(self, entities: Sequence[Entity], doing: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        try:
            if not self._lookup.is_ready():
                return None
            self.asked += 1
            found = await run_with_timeout(doing(), self._patience)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises, budgets are only not known
            self._lookup.drop()
            self.breaker.record_failure(self._clock())
            self._failures.record((kind for kind, _ in entities), self.source, error)
            return None
        self.breaker.record_success()
        return found

    async def close(self) -> None:
        """Let go of the server."""
        try:
            await run_with_timeout(self._lookup.close(), self._patience)
        except Exception:  # noqa: BLE001 - as above
            self._lookup.drop()


class GuardedCache(GuardedSource):
    """One that keeps things, too."""

    def __init__(
        self,
        source: Source,
        store: WritableBudgetSource,
        patience: float,
        failures: SourceFailures,
        clock: Callable[[], float],
        breaker: CircuitBreaker,
    ) -> None:
        super().__init__(source, store, patience, failures, clock, breaker)
        self._store = store

    async def store(self, found: Mapping[Entity, Budget]) -> None:
        """Keep it for others, if that is soon done."""
        await self._do(tuple(found), lambda: self._store.store(found))


async def run_with_timeout(doing: Coroutine[Any, Any, T], seconds: float) -> T:
    """Wait for something so long. It is a task of its own, for drivers that take their time to be cancelled."""
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait((task,), timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forgotten)
    if not task.done() or task.cancelled():
        raise TimeoutError
    return task.result()


def _forgotten(task: asyncio.Task[T]) -> None:
    """Look at how it ended, so that asyncio does not complain that nobody has."""
    if not task.cancelled():
        task.exception()
