"""Budget sources behind a timeout and a circuit breaker, as the loader uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from litellm_evenkeel.support.timeouts import run_with_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from litellm_evenkeel.budgets.budget import Budget, Entity, Source
    from litellm_evenkeel.budgets.stats import SourceFailures
    from litellm_evenkeel.support.circuit_breaker import CircuitBreaker

T = TypeVar("T")


class BudgetSource(Protocol):
    """Driver of one budget source. Its methods raise the driver's own errors."""

    def is_ready(self) -> bool:
        """Return whether `fetch` may be called. If not, start what makes it ready, such as connecting."""

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget]:
        """Return the known budgets. An entity that is not in the result is unknown."""

    def drop(self) -> None:
        """Drop connections that may be broken, without waiting."""

    async def close(self) -> None:
        """Close the connections. No other method is called afterwards."""


class WritableBudgetSource(BudgetSource, Protocol):
    """Driver of a source that workers also write to."""

    async def store(self, budgets: Mapping[Entity, Budget]) -> None:
        """Write budgets for the other workers."""


Driver_co = TypeVar("Driver_co", bound=BudgetSource, covariant=True)


class GuardedSource(Generic[Driver_co]):
    """Budget source behind a circuit breaker. Calls never raise, and end within `timeout` seconds."""

    def __init__(
        self,
        source: Source,
        driver: Driver_co,
        timeout: float,
        failures: SourceFailures,
        clock: Callable[[], float],
        breaker: CircuitBreaker,
    ) -> None:
        self.source, self.breaker = source, breaker
        self.calls = 0
        self._driver, self._timeout, self._failures, self._clock = driver, timeout, failures, clock

    @property
    def may_call(self) -> bool:
        """Whether a call is allowed: the pause after the last failure is over."""
        return self._clock() >= self.breaker.retry_at

    async def fetch(self, entities: Sequence[Entity]) -> Mapping[Entity, Budget] | None:
        """Return the known budgets, or `None` if the source failed or is not ready."""
        return await self._call(entities, lambda: self._driver.fetch(entities))

    async def _call(self, entities: Sequence[Entity], operation: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        try:
            if not self._driver.is_ready():
                return None
            self.calls += 1
            result = await run_with_timeout(operation(), self._timeout)
        except Exception as error:  # noqa: BLE001 - a driver may raise any error, and budgets only stay unknown
            self._driver.drop()
            self.breaker.record_failure(self._clock())
            self._failures.record((kind for kind, _ in entities), self.source, error)
            return None
        self.breaker.record_success(self._clock())
        return result

    async def close(self) -> None:
        """Close the connections."""
        try:
            await run_with_timeout(self._driver.close(), self._timeout)
        except Exception:  # noqa: BLE001 - as above
            self._driver.drop()


class GuardedCache(GuardedSource[WritableBudgetSource]):
    """Guarded source that workers also write to."""

    async def store(self, budgets: Mapping[Entity, Budget]) -> None:
        """Write budgets for the other workers, unless that fails or takes too long."""
        await self._call(tuple(budgets), lambda: self._driver.store(budgets))
