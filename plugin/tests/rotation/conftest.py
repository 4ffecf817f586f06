"""A world for the tests of the rotation: a clock that only they move, chance that repeats itself, accounts."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate


class World:
    """Time, chance and a pool."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.random = random.Random(7).random
        self.pool = self.made()

    def clock(self) -> float:
        return self.now

    def made(
        self,
        strategy: str = "headroom",
        *,
        refresh: Callable[[CandidateSet], None] | None = None,
        opened: Callable[[CandidateSet], None] | None = None,
        tell: Callable[[CooldownUpdate], None] | None = None,
        **terms: object,
    ) -> AccountPool:
        """Use a new pool."""
        told = RotationSettings(strategy=StrategyName(strategy), **terms)
        self.pool = AccountPool(
            told, clock=self.clock, random=self.random, refresh=refresh, on_capacity=opened, broadcast=tell
        )
        return self.pool

    @staticmethod
    def seat(
        name: str, limits: Mapping[str, object] | None = None, *, weight: float = 1.0, priority: int = 1
    ) -> DeploymentSpec:
        return DeploymentSpec(name, name, "m", weight, priority, Limits.of(limits, name))

    def group(self, *specs: DeploymentSpec) -> CandidateSet:
        return self.pool.candidate_set("g", specs)

    def pick(self, candidates: CandidateSet, request: PickRequest | None = None) -> Pick:
        found = self.pool.pick(candidates, request or PickRequest())
        assert isinstance(found, Pick)
        return found

    def used(self, candidates: CandidateSet, number: int, usage: Usage = SINGLE_REQUEST) -> Counter[str]:
        """Return the accounts of `count` requests, each of which ends at once."""
        found: Counter[str] = Counter()
        for _ in range(number):
            pick = self.pick(candidates, PickRequest(usage))
            self.pool.settle(pick.reservation, usage)
            found[pick.deployment.spec.id] += 1
        return found

    def hold(
        self,
        candidates: CandidateSet,
        name: str,
        seconds: float | None = 10.0,
        kind: FailureKind = FailureKind.RATE_LIMIT,
    ) -> None:
        """Make a request fail at an account."""
        deployment = next(one for one in candidates.deployments if one.spec.id == name)
        tried = frozenset(one.spec.id for one in candidates.deployments if one is not deployment)
        reservation = self.pick(candidates, PickRequest(preferred_account=name, excluded=tried)).reservation
        assert reservation.deployment is deployment
        self.pool.fail(reservation, Failure(kind, FailureScope.ACCOUNT, seconds, "test"))


@pytest.fixture
def world() -> World:
    return World()
