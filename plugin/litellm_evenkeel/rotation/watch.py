"""The rotation of one worker, as those see it who ask: accounts, explanations, an operator's release."""

from __future__ import annotations

import asyncio
import random as randomness
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.explain import explaining
from litellm_evenkeel.rotation.need import Need
from litellm_evenkeel.rotation.standing import standings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from litellm_evenkeel.rotation.candidates import Deployment
    from litellm_evenkeel.rotation.escapes import Advice
    from litellm_evenkeel.rotation.explanation import Explanation
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.pool import Pool
    from litellm_evenkeel.rotation.standing import AccountStanding
    from litellm_evenkeel.rotation.steering import Steering
    from litellm_evenkeel.rotation.sticky import StickyCounts
    from litellm_evenkeel.rotation.tally import Tally


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wants explained."""

    model: str
    tokens: float | None = None
    """None for as many as are usually reserved for a request of this model."""
    session: str | None = None
    client: str = ""
    """The hash of the client's key: sessions of different keys are different ones."""
    tried: frozenset[str] = frozenset()
    """Names of accounts, or ids of deployments, at which the request has failed."""
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """An explanation, and what its session's pin had to do with it."""

    explanation: Explanation
    pinned_to: str | None
    advice: Advice | None
    waiting: int
    """How many requests wait for an account of this model: whoever asks now comes after them."""
    is_scarce: bool
    """Whether so little is left that it is shared among clients: one that has had its part waits."""


class Watch:
    """One worker's."""

    def __init__(
        self,
        steering: Steering,
        tally: Tally,
        *,
        clock: Callable[[], float],
        deployments: Callable[[str], Sequence[Deployment]] = lambda _: (),
        random: Callable[[], float] | None = None,
    ) -> None:
        self._steering, self._tally, self._clock, self._deployments = steering, tally, clock, deployments
        # Not the pool's: its next draws stay what they would have been.
        self._random = random or randomness.Random().random  # noqa: S311 - nothing is secret

    @property
    def pool(self) -> Pool:
        """All accounts."""
        return self._steering.pool

    def now(self) -> float:
        """Return the time by the pool's clock."""
        return self._clock()

    def groups(self) -> Sequence[Group]:
        """Return all sets of candidates that are in use."""
        return self._steering.candidates.groups()

    def sticky_counts(self) -> StickyCounts:
        """Return what has happened to sessions."""
        return self._steering.sticky.counts()

    def waiting(self) -> Mapping[str, int]:
        """Return how many requests wait for each model group."""
        return self._steering.waiting.waiting()

    def route_cache(self) -> tuple[int, int]:
        """Return how many lists of candidates were known, and were not."""
        return self._steering.candidates.hits, self._steering.candidates.misses

    def models(self) -> list[str]:
        """Return the model groups that somebody has asked for here."""
        return sorted({group.name for group in self.groups()})

    def names(self) -> list[str]:
        """Return the names of all accounts that are known here."""
        return sorted({account for account, _ in self.pool.sides})

    async def accounts(self, only: Sequence[str] | None = None) -> tuple[AccountStanding, ...]:
        """Return how all accounts stand, or some."""
        counts = self._steering.sticky.counts()
        return await _patiently(standings(self.pool, self._clock(), self._tally, counts, only=only))

    async def explain(self, question: Question) -> Told | None:
        """Say what a pick would be now; None for a model that nobody knows here."""
        group = self._group(question.model)
        if group is None:
            return None
        places = group.places
        tried = frozenset(place.seat.id for place in places if {place.seat.id, place.seat.account} & question.tried)
        need = self._steering.estimates.of(group.name, {}, None)
        if question.tokens is not None:
            need = Need(1.0, question.tokens, need.dollars * question.tokens / need.tokens if need.tokens else 0.0)
        asked, pinned, advice = Asked(need, tried, is_stream=question.is_stream), None, None
        if question.session:
            metadata = {"session_id": question.session, "user_api_key_hash": question.client}
            # A twin, because looking may ask others for parts of what they share.
            found = self._steering.pin(group.twin(self._random), {"metadata": metadata}, asked)
            pinned, advice, asked = found or (None, None, asked)
        told = await _patiently(explaining(self.pool, group, asked, self._clock(), random=self._random))
        return Told(told, pinned, advice, self.waiting().get(group.name, 0), group.fairness.is_scarce)

    def release(self, account: str) -> bool:
        """Free an account of whatever holds it; whether there is one of that name."""
        return self.pool.release_account(account)

    def _group(self, model: str) -> Group | None:
        # Tags and the like leave some requests fewer candidates: the largest set is that of all others.
        known = [group for group in self.groups() if group.name == model]
        if known:
            return max(known, key=lambda group: len(group.places))
        deployments = self._deployments(model)
        return self._steering.candidates.of(model, deployments).group if deployments else None


async def _patiently(steps: Generator[None, None, T]) -> T:
    """Go on to the end, and let others have the thread at each step."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        await asyncio.sleep(0)
