"""Whatever happens, in whatever order: what must always hold of the pool."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from litellm_evenkeel.rotation import holds
from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.bars import Why
from litellm_evenkeel.rotation.holds import State
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.limit_headers import Reading
from litellm_evenkeel.rotation.limits import Limits
from litellm_evenkeel.rotation.need import Need
from litellm_evenkeel.rotation.picks import Full, Pick
from litellm_evenkeel.rotation.pool import Pool
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.signals import Signal
from litellm_evenkeel.rotation.strategies import STRATEGIES
from litellm_evenkeel.rotation.terms import RotationTerms, Strategy

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.lease import Lease

ACCOUNTS = ("a", "b", "c")
MODELS = ("small", "large")
LIMITS = {
    "a": Limits.of({"rpm": 5, "concurrent": 3}, "a"),
    "b": Limits.of({"tpm": 20_000, "windows": [{"for": "1h", "requests": 40}]}, "b"),
    "c": Limits(),
}
kinds = st.sampled_from([kind for kind in Kind if kind is not Kind.PERMANENT])
seconds = st.none() | st.floats(0, 100)


class Machine(RuleBasedStateMachine):
    strategy = "headroom"
    ttl = 10.0

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        terms = RotationTerms(
            strategy=Strategy(self.strategy), snapshot_ttl=self.ttl, lease=120.0, holds=holds.Terms(tolerated=1)
        )
        self.pool = Pool(terms, clock=lambda: self.now, random=random.Random(1).random)
        self.groups = {
            model: self.pool.group(
                model, [Seat(f"{name}-{model}", name, model, limits=LIMITS[name]) for name in ACCOUNTS]
            )
            for model in MODELS
        }
        self.open: list[Lease] = []
        self.lapsed: list[Lease] = []
        self.requests: list[tuple[str, float]] = []
        # Of each hold, the latest moment it was ever said to last until, unless an operator has released it.
        self.promised: dict[object, float] = {}

    def sides(self) -> list:
        return list(self.pool.sides.values())

    @rule(pause=st.floats(0.001, 90))
    def wait(self, pause: float) -> None:
        self.now += pause
        self.pool.expire(self.now)
        self.lapsed += [lease for lease in self.open if not lease.is_open]
        self.open = [lease for lease in self.open if lease.is_open]

    @rule(
        model=st.sampled_from(MODELS),
        tokens=st.floats(0, 8000),
        prefer=st.none() | st.sampled_from(ACCOUNTS),
        tried=st.frozensets(st.sampled_from([f"{name}-{model}" for name in ACCOUNTS for model in MODELS]), max_size=3),
    )
    def ask(self, model: str, tokens: float, prefer: str | None, tried: frozenset[str]) -> None:
        group = self.groups[model]
        states = {
            place: (place.account.hold.state(self.now), place.model.hold.state(self.now)) for place in group.places
        }
        found = self.pool.pick(group, Asked(Need(1, tokens), tried, prefer))
        if isinstance(found, Pick):
            assert State.QUARANTINED not in states[found.place]
            side = found.place.account
            assert side.concurrent is None or side.in_flight <= side.concurrent
            self.open.append(found.lease)
            self.requests.append((found.place.seat.account, self.now))
            return
        if isinstance(found, Full) and found.bar is not None and found.bar.yields:
            # One has gone to see; who has waited for it goes too.
            found = self.pool.pick(group, Asked(Need(1, tokens), tried, prefer, presses=True))
            assert isinstance(found, Pick)
            self.open.append(found.lease)
            self.requests.append((found.place.seat.account, self.now))
            return
        # Never empty: nothing but a limit, a provider's own word or death stands in the way, at every single one.
        assert isinstance(found, Full)
        for place in group.places:
            if place.seat.id in tried:
                continue
            bar = place.bar(Need(1, tokens), self.now)
            assert bar is not None
            limit = place.limits_bar(Need(1, tokens), self.now)
            assert bar.is_sure or limit is not None
            assert (bar.opens_at == math.inf) == (bar.why is Why.QUARANTINED)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), share=st.floats(0, 2), left=st.none() | st.floats(0, 10), resets=st.floats(0, 100))
    def succeed(self, data: st.DataObject, share: float, left: float | None, resets: float) -> None:
        lease = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        readings = () if left is None else (Reading("requests", 60.0, 5.0, left, None, resets),)
        self.pool.settle(lease, Need(1, lease.need.tokens * share), latency=0.5, readings=readings)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), left=st.none() | st.floats(0, 10), resets=st.floats(0, 100))
    def begin(self, data: st.DataObject, left: float | None, resets: float) -> None:
        readings = () if left is None else (Reading("requests", 60.0, 5.0, left, None, resets),)
        self.pool.began(data.draw(st.sampled_from(self.open)), readings)

    @precondition(lambda self: self.lapsed)
    @rule(data=st.data(), share=st.floats(0, 2), again=st.booleans())
    def succeed_late(self, data: st.DataObject, share: float, *, again: bool) -> None:
        lease = self.lapsed.pop(data.draw(st.integers(0, len(self.lapsed) - 1)))
        used = Need(1, lease.need.tokens * share)
        for _ in range(1 + again):
            before = [window.left(self.now) for window in lease.place.account.windows]
            self.pool.settle(lease, used, latency=0.5)
            after = [window.left(self.now) for window in lease.place.account.windows]
            for window, was, left in zip(lease.place.account.windows, before, after, strict=True):
                # Once, and the request itself was counted before.
                assert was - left == pytest.approx(window.amount(used._replace(requests=0)), abs=1e-6)
            used = Need(0, 0)

    @precondition(lambda self: self.lapsed)
    @rule(data=st.data(), kind=kinds)
    def fail_late(self, data: st.DataObject, kind: Kind) -> None:
        lease = self.lapsed.pop(data.draw(st.integers(0, len(self.lapsed) - 1)))
        self.pool.fail(lease, Signal(kind, Scope.ACCOUNT_MODEL, None, "test"))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), kind=kinds, said=seconds, scope=st.sampled_from(Scope))
    def fail(self, data: st.DataObject, kind: Kind, said: float | None, scope: Scope) -> None:
        lease = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.pool.fail(lease, Signal(kind, scope, said, "test"))

    @precondition(lambda self: self.open)
    @rule(data=st.data(), scope=st.sampled_from([Scope.ACCOUNT, Scope.ACCOUNT_MODEL]))
    def die(self, data: st.DataObject, scope: Scope) -> None:
        lease = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        self.pool.fail(lease, Signal(Kind.PERMANENT, scope, None, "revoked"))

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def vanish(self, data: st.DataObject) -> None:
        self.pool.release(self.open.pop(data.draw(st.integers(0, len(self.open) - 1))))

    @rule(name=st.sampled_from(ACCOUNTS))
    def operator_releases(self, name: str) -> None:
        self.pool.release_account(name)
        for side in (self.pool.sides[name, model] for model in (None, *MODELS)):
            self.promised.pop(side, None)

    @invariant()
    def nothing_is_negative(self) -> None:
        for side in self.sides():
            assert side.in_flight >= 0
            for window in side.windows:
                assert window.left(self.now) <= window.limit.amount * (1 + 1e-9)
        by_account = dict.fromkeys(ACCOUNTS, 0)
        for lease in self.open:
            by_account[lease.place.seat.account] += 1
        assert by_account == {name: self.pool.sides[name, None].in_flight for name in ACCOUNTS}

    @invariant()
    def a_hold_never_ends_early(self) -> None:
        for side in self.sides():
            state = side.hold.state(self.now)
            promised = self.promised.get(side, -math.inf)
            assert self.now >= promised or state in {State.HELD, State.QUARANTINED}
            if state in {State.HELD, State.QUARANTINED}:
                self.promised[side] = max(promised, side.hold.until)

    def teardown(self) -> None:
        for lease in self.open:
            self.pool.settle(lease, Need(1, 0.0))
        for side in self.sides():
            assert side.in_flight == 0
        for place in self.pool.places.values():
            assert not place.leases
        # What was reserved and not used is nobody's any more: only real use is left, and it leaves too.
        self.now += 3 * 3600
        for side in self.sides():
            for window in side.windows:
                assert window.left(self.now) == pytest.approx(window.limit.amount)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ttl", [0.0, 10.0])
def test_whatever_happens(strategy: str, ttl: float) -> None:
    machine = type("Machine", (Machine,), {"strategy": strategy, "ttl": ttl})
    machine.TestCase.settings = settings(
        max_examples=40, stateful_step_count=60, deadline=None, phases=[Phase.generate]
    )
    machine.TestCase("runTest").runTest()
