"""Whatever happens, in whatever order: what must always hold of the pool."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.providers.limit_headers import LimitReading
from litellm_evenkeel.rotation.model.blocker import BlockReason, Certainty
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.selection.strategies import STRATEGIES
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName
from litellm_evenkeel.rotation.state import cooldown
from litellm_evenkeel.rotation.state.cooldown import HealthState

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.state.deployment_state import Reservation

ACCOUNTS = ("a", "b", "c")
MODELS = ("small", "large")
LIMITS = {
    "a": Limits.of({"rpm": 5, "concurrent": 3}, "a"),
    "b": Limits.of({"tpm": 20_000, "windows": [{"for": "1h", "requests": 40}]}, "b"),
    "c": Limits(),
}
kinds = st.sampled_from([kind for kind in FailureKind if kind is not FailureKind.PERMANENT])
seconds = st.none() | st.floats(0, 100)


class Machine(RuleBasedStateMachine):
    strategy = "headroom"
    ttl = 10.0

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        settings = RotationSettings(
            strategy=StrategyName(self.strategy),
            snapshot_ttl=self.ttl,
            reservation_ttl=120.0,
            cooldown=cooldown.CooldownSettings(allowed_failures=1),
        )
        self.pool = AccountPool(settings, clock=lambda: self.now, random=random.Random(1).random)
        self.candidate_sets = {
            model: self.pool.candidate_set(
                model, [DeploymentSpec(f"{name}-{model}", name, model, limits=LIMITS[name]) for name in ACCOUNTS]
            )
            for model in MODELS
        }
        self.open: list[Reservation] = []
        self.lapsed: list[Reservation] = []
        self.requests: list[tuple[str, float]] = []
        # Of each hold, the latest moment it was ever said to last until, unless an operator has released it.
        self.promised: dict[object, float] = {}

    def sides(self) -> list:
        return list(self.pool.scopes.values())

    @rule(pause=st.floats(0.001, 90))
    def wait(self, pause: float) -> None:
        self.now += pause
        self.pool.expire_reservations(self.now)
        self.lapsed += [reservation for reservation in self.open if not reservation.is_open]
        self.open = [reservation for reservation in self.open if reservation.is_open]

    @rule(
        model=st.sampled_from(MODELS),
        tokens=st.floats(0, 8000),
        prefer=st.none() | st.sampled_from(ACCOUNTS),
        tried=st.frozensets(st.sampled_from([f"{name}-{model}" for name in ACCOUNTS for model in MODELS]), max_size=3),
    )
    def ask(self, model: str, tokens: float, prefer: str | None, tried: frozenset[str]) -> None:
        candidates = self.candidate_sets[model]
        states = {
            deployment: (deployment.account.cooldown.state(self.now), deployment.model.cooldown.state(self.now))
            for deployment in candidates.deployments
        }
        found = self.pool.pick(candidates, PickRequest(Usage(1, tokens), tried, prefer))
        if isinstance(found, Pick):
            assert HealthState.QUARANTINED not in states[found.deployment]
            scope = found.deployment.account
            assert scope.concurrent is None or scope.in_flight <= scope.concurrent
            self.open.append(found.reservation)
            self.requests.append((found.deployment.spec.account, self.now))
            return
        if isinstance(found, NoCapacity) and found.blocker is not None and found.blocker.may_be_exceeded:
            # One has gone to see; who has waited for it goes too.
            found = self.pool.pick(candidates, PickRequest(Usage(1, tokens), tried, prefer, is_final_try=True))
            assert isinstance(found, Pick)
            self.open.append(found.reservation)
            self.requests.append((found.deployment.spec.account, self.now))
            return
        # Never empty: nothing but a limit, a provider's own word or death stands in the way, at every single one.
        assert isinstance(found, NoCapacity)
        for deployment in candidates.deployments:
            if deployment.spec.id in tried:
                continue
            blocker = deployment.blocker(Usage(1, tokens), self.now)
            assert blocker is not None
            limit = deployment.limit_blocker(Usage(1, tokens), self.now)
            assert blocker.certainty is not Certainty.ESTIMATED or limit is not None
            assert (blocker.until == math.inf) == (blocker.reason is BlockReason.QUARANTINED)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.floats(0, 2), left=st.none() | st.floats(0, 10), resets=st.floats(0, 100))
    def succeed(self, data: st.DataObject, share: float, left: float | None, resets: float) -> None:
        reservation = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        readings = () if left is None else (LimitReading("requests", 60.0, 5.0, left, None, resets),)
        self.pool.settle(reservation, Usage(1, reservation.usage.tokens * share), latency=0.5, readings=readings)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), left=st.none() | st.floats(0, 10), resets=st.floats(0, 100))
    def begin(self, data: st.DataObject, left: float | None, resets: float) -> None:
        readings = () if left is None else (LimitReading("requests", 60.0, 5.0, left, None, resets),)
        self.pool.on_stream_start(data.draw(st.sampled_from(self.open)), readings)

    @precondition(lambda self: self.lapsed)
    @rule(data=st.data(), share=st.floats(0, 2), again=st.booleans())
    def succeed_late(self, data: st.DataObject, share: float, *, again: bool) -> None:
        reservation = self.lapsed.pop(data.draw(st.integers(0, len(self.lapsed) - 1)))
        used = Usage(1, reservation.usage.tokens * share)
        for _ in range(1 + again):
            before = [window.available(self.now) for window in reservation.deployment.account.windows]
            self.pool.settle(reservation, used, latency=0.5)
            after = [window.available(self.now) for window in reservation.deployment.account.windows]
            for window, was, left in zip(reservation.deployment.account.windows, before, after, strict=True):
                # Once, and the request itself was counted before.
                assert was - left == pytest.approx(window.amount_of(used._replace(requests=0)), abs=1e-6)
            used = Usage(0, 0)

    @precondition(lambda self: self.lapsed)
    @rule(data=st.data(), kind=kinds)
    def fail_late(self, data: st.DataObject, kind: FailureKind) -> None:
        reservation = self.lapsed.pop(data.draw(st.integers(0, len(self.lapsed) - 1)))
        self.pool.fail(reservation, Failure(kind, FailureScope.ACCOUNT_MODEL, None, "test"))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), kind=kinds, said=seconds, scope=st.sampled_from(FailureScope))
    def fail(self, data: st.DataObject, kind: FailureKind, said: float | None, scope: FailureScope) -> None:
        reservation = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.pool.fail(reservation, Failure(kind, scope, said, "test"))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), scope=st.sampled_from([FailureScope.ACCOUNT, FailureScope.ACCOUNT_MODEL]))
    def die(self, data: st.DataObject, scope: FailureScope) -> None:
        reservation = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.pool.fail(reservation, Failure(FailureKind.PERMANENT, scope, None, "revoked"))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def vanish(self, data: st.DataObject) -> None:
        self.pool.release(self.open.pop(data.draw(st.integers(0, len(self.open) - 1))))

    @rule(name=st.sampled_from(ACCOUNTS))
    def operator_releases(self, name: str) -> None:
        self.pool.release_account(name)
        for scope in (self.pool.scopes[name, model] for model in (None, *MODELS)):
            self.promised.pop(scope, None)

    @invariant()
    def nothing_is_negative(self) -> None:
        for side in self.sides():
            assert side.in_flight >= 0
            for window in side.windows:
                assert window.available(self.now) <= window.limit.amount * (1 + 1e-9)
        by_account = dict.fromkeys(ACCOUNTS, 0)
        for reservation in self.open:
            by_account[reservation.deployment.spec.account] += 1
        assert by_account == {name: self.pool.scopes[name, None].in_flight for name in ACCOUNTS}

    @invariant()
    def a_hold_never_ends_early(self) -> None:
        for side in self.sides():
            state = side.cooldown.state(self.now)
            promised = self.promised.get(side, -math.inf)
            assert self.now >= promised or state in {HealthState.COOLING_DOWN, HealthState.QUARANTINED}
            if state in {HealthState.COOLING_DOWN, HealthState.QUARANTINED}:
                self.promised[side] = max(promised, side.cooldown.until)

    def teardown(self) -> None:
        for reservation in self.open:
            self.pool.settle(reservation, Usage(1, 0.0))
        for side in self.sides():
            assert side.in_flight == 0
        for deployment in self.pool.deployments.values():
            assert not deployment.reservations
        # Reservations have expired: only actual usage is left, and it leaves the windows too.
        self.now += 3 * 3600
        for side in self.sides():
            for window in side.windows:
                assert window.available(self.now) == pytest.approx(window.limit.amount)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ttl", [1e-6, 10.0])
def test_whatever_happens(strategy: str, ttl: float) -> None:
    machine = type("Machine", (Machine,), {"strategy": strategy, "ttl": ttl})
    machine.TestCase.settings = settings(
        max_examples=40, stateful_step_count=60, deadline=None, phases=[Phase.generate]
    )
    machine.TestCase("runTest").runTest()
