"""Several workers and one store, in a time that is moved by hand: whatever happens, no limit is exceeded."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st
from memory_lease_store import MemoryStore

from litellm_evenkeel.rotation.model.limits import RateLimit, Unit
from litellm_evenkeel.rotation.quota_sharing.account_leases import AccountLeases
from litellm_evenkeel.rotation.quota_sharing.protocol import (
    ClockOffset,
    LeaseRequest,
    LeaseResponse,
    ScopeRequest,
    SharingMode,
)

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.quota_sharing.leased_window import LeasedWindow

LIMITS = [
    RateLimit(Unit.REQUESTS, 1, 60.0),
    RateLimit(Unit.REQUESTS, 40, 60.0),
    RateLimit(Unit.TOKENS, 5000.5, 60.0),
    RateLimit(Unit.TOKENS, 300.0, 2.0),
    RateLimit(Unit.DOLLARS, 1.3, 18_000.0),
]


class World:
    """One store, and what was really used."""

    def __init__(self, limit: RateLimit, workers: int) -> None:
        self.limit, self.now = limit, 1_700_000_000.25
        self.store = MemoryStore(lambda: self.now)
        self.uses: list[list[float]] = []
        self.workers = [Worker(self, str(number), 1000.0 * (number + 1)) for number in range(workers)]

    def check(self) -> None:
        seconds = self.limit.seconds
        self.uses = [use for use in self.uses if use[0] > self.now - seconds]
        assert sum(use[1] for use in self.uses) <= self.limit.amount * (1 + 1e-6)


@dataclass
class Worker:
    """One of them, with a clock of its own."""

    world: World
    name: str
    behind: float
    mode: SharingMode = field(default_factory=lambda: SharingMode(is_local=False, workers=4, epoch="e"))
    workers: int = 4
    lacking: int = 0
    asked: tuple[float, ScopeRequest, LeaseResponse] | None = None

    def __post_init__(self) -> None:
        self.clock_offset: ClockOffset | None = ClockOffset(self.behind, self.behind)
        self.leases = AccountLeases(("a", None), self)
        self.window: LeasedWindow = self.leases.add_window(self.world.limit)

    @property
    def now(self) -> float:
        return self.world.now - self.behind

    def request_now(self, leases: AccountLeases) -> bool:
        self.lacking += 1
        return True

    def request_soon(self, leases: AccountLeases) -> None:
        pass

    def use(self, amount: float) -> bool:
        if self.window.available(self.now) + 1e-9 < amount or self.window.available(self.now) <= 0:
            self.window.request(self.now, amount)
            return False
        self.window.take(self.now, amount)
        self.world.uses.append([self.world.now, amount, id(self)])
        return True

    def send(self) -> None:
        """Ask; the store counts at once, its answer is under way."""
        ask = None if self.asked else self.leases.build_request(self.now, confirms=False)
        if ask:
            call = LeaseRequest(self.name, "e", "e", 1e9, 2.0, 3.0, 1, rejoins=False, leaves=False, scopes=(ask,))
            self.asked = self.now, ask, self.world.store.answer(call)

    def receive(self) -> None:
        if self.asked:
            sent, ask, response = self.asked
            self.asked = None
            self.clock_offset = ClockOffset(response.now - self.now, response.now - sent)
            self.leases.apply_grant(ask, response.scopes[0], self.now, self.clock_offset)

    def lose(self) -> None:
        """Never hear what became of it."""
        if self.asked:
            self.asked = None
            self.leases.on_timeout()

    def settle(self, share: float) -> None:
        """Learn that the oldest request has used less."""
        for use in self.world.uses:
            if use[2] == id(self) and use[1] > 0:
                less = use[1] * share
                self.window.give_back(use[0] - self.behind, self.now, less)
                use[1] -= less
                use[2] = 0
                return


acts = st.sampled_from(["use", "use", "use", "send", "send", "receive", "receive", "settle", "lose", "wait"])
steps = st.lists(
    st.tuples(st.integers(0, 3), acts, st.floats(0.001, 1), st.sampled_from([0.0, 0.01, 0.4, 1.0, 5.0, 62.0])),
    max_size=150,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(LIMITS), steps)
def test_whatever_the_order_no_period_sees_more_than_the_limit(
    limit: RateLimit, told: list[tuple[int, str, float, float]]
) -> None:
    world = World(limit, 4)
    for number, act, share, pause in told:
        worker = world.workers[number]
        if act == "use":
            worker.use(max(1.0, math.ceil(share * limit.amount / 4)) if limit.unit is Unit.REQUESTS else share)
        elif act == "settle":
            worker.settle(share)
        elif act == "wait":
            world.now += pause * limit.seconds / 60
        else:
            getattr(worker, act)()
        world.check()


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("seed", range(4))
def test_many_workers_that_press_use_the_limit_and_never_more(limit: RateLimit, seed: int) -> None:
    draw = random.Random(seed)
    world = World(limit, 4)
    amount = 1.0 if limit.unit is Unit.REQUESTS else limit.amount / 37
    step, used = limit.seconds / 240, 0.0
    lengths = 6
    for _ in range(240 * lengths):
        world.now += step * draw.uniform(0.5, 1.5)
        for worker in draw.sample(world.workers, 4):
            for _ in range(draw.randint(0, 3)):
                if worker.use(amount):
                    used += amount
                    world.check()
            worker.send()
            (worker.lose if draw.random() < 0.001 else worker.receive)()
    assert used >= 0.8 * limit.amount * (lengths - 1)


def test_nobody_starves_where_there_is_one_for_all() -> None:
    world = World(RateLimit(Unit.REQUESTS, 1, 60.0), 4)
    served = dict.fromkeys(range(4), 0)
    draw = random.Random(1)
    for _ in range(60 * 60 * 4):
        world.now += 0.25
        for number in draw.sample(range(4), 4):
            worker = world.workers[number]
            served[number] += worker.use(1.0)
            worker.send()
            worker.receive()
            world.check()
    assert min(served.values()) >= 2
    assert sum(served.values()) >= 50


def test_a_request_as_large_as_the_limit_is_granted_when_all_is_free() -> None:
    world = World(RateLimit(Unit.TOKENS, 5000, 60.0), 4)
    first, second, *_ = world.workers
    assert not first.use(5000)
    first.send()
    first.receive()
    assert first.use(5000)
    assert not second.use(1)
    second.send()
    second.receive()
    assert second.window.wait_for(second.now, 1) == pytest.approx(62, abs=1.01)


def test_what_nobody_used_is_anothers_soon() -> None:
    world = World(RateLimit(Unit.REQUESTS, 1, 60.0), 2)
    first, second = world.workers
    first.use(1)
    first.send()
    first.receive()
    second.use(1)
    second.send()
    second.receive()
    assert not second.use(1)
    world.now += 2.5
    first.send()
    first.receive()
    world.now += 0.3
    second.send()
    second.receive()
    assert second.use(1)
    world.check()


def test_what_a_provider_says_of_one_worker_counts_for_all() -> None:
    world = World(RateLimit(Unit.REQUESTS, 40, 60.0), 2)
    first, second = world.workers
    for _ in range(40):
        first.use(1)
        first.send()
        first.receive()
    used = len(world.uses)
    assert used >= 30
    world.now += 5
    # It was reset early, as only its answers tell.
    first.window.apply_reading(first.now, first.now, 39, 55.0)
    assert not first.use(1)
    first.send()
    first.receive()
    assert first.use(1)
    assert not second.use(1)
    second.send()
    second.receive()
    assert second.use(1)


def test_what_a_provider_stated_can_be_forgotten_by_all() -> None:
    world = World(RateLimit(Unit.REQUESTS, 40, 18_000.0), 2)
    first, second = world.workers
    first.use(1)
    first.send()
    first.receive()
    assert first.use(1)
    first.window.apply_reading(first.now, first.now, 0, 15_000.0)
    for worker in (first, second):
        worker.use(1)
        worker.send()
        worker.receive()
        assert not worker.use(1)
    first.window.forget_reading(first.now)
    first.window.forget_shared_reading(first.now)
    first.send()
    first.receive()
    second.window.forget_reading(second.now)
    for worker in (first, second):
        worker.use(1)
        worker.send()
        worker.receive()
        assert worker.use(1)


def test_a_report_is_sent_again_if_its_exchange_fails() -> None:
    (worker,) = World(RateLimit(Unit.REQUESTS, 40, 18_000.0), 1).workers
    worker.window.forget_shared_reading(worker.now)
    sent = worker.leases.build_request(worker.now, confirms=False)
    assert sent
    worker.leases.on_timeout()
    again = worker.leases.build_request(worker.now, confirms=False)
    assert again
    assert again.windows[0].provider_report == sent.windows[0].provider_report is not None


def test_a_changed_limit_keeps_the_usage_that_the_store_does_not_know() -> None:
    world = World(RateLimit(Unit.REQUESTS, 40, 60.0), 2)
    first, second = world.workers
    alone(first, workers=1)
    for _ in range(30):
        assert first.use(1)
    former, first.window = first.window, first.leases.add_window(RateLimit(Unit.REQUESTS, 50, 60.0))
    first.window.inherit_usage(former)
    first.mode = second.mode
    first.send()
    first.receive()
    assert sum(world.store.sides["a"].windows["requests/60.0"].parts.values()) >= 30


def alone(worker: Worker, workers: int = 4) -> None:
    worker.mode = SharingMode(is_local=True, workers=workers, epoch="e")


def test_alone_all_together_use_no_more_than_the_limit() -> None:
    world = World(RateLimit(Unit.REQUESTS, 40, 60.0), 4)
    draw = random.Random(3)
    used = 0
    for moment in range(60 * 20):
        world.now += 0.25
        if moment == 300:
            for worker in world.workers:
                alone(worker)
        for worker in draw.sample(world.workers, 4):
            if draw.random() < 0.5:
                used += moment >= 300 and worker.use(1)
            if moment < 300:
                worker.use(1)
                worker.send()
                worker.receive()
        seconds = world.limit.seconds
        assert len([use for use in world.uses if use[0] > world.now - seconds]) <= 40 * 1.25
    assert used >= 40 * 3


def test_alone_one_request_goes_however_small_the_part_is() -> None:
    world = World(RateLimit(Unit.TOKENS, 5000, 60.0), 2)
    worker = world.workers[0]
    alone(worker, workers=50)
    assert worker.use(4000)
    assert not worker.use(4000)
    wait = worker.window.wait_for(worker.now, 4000)
    assert 55 < wait < 65
    world.now += wait
    assert worker.use(4000)


def test_together_again_the_store_is_told_what_was_used_alone() -> None:
    world = World(RateLimit(Unit.REQUESTS, 40, 60.0), 2)
    first, second = world.workers
    alone(first, workers=1)
    for _ in range(40):
        assert first.use(1)
    first.mode = second.mode
    first.send()
    first.receive()
    second.use(1)
    second.send()
    second.receive()
    assert not second.use(1)


def test_a_store_that_has_forgotten_all_is_told_all() -> None:
    world = World(RateLimit(Unit.REQUESTS, 40, 60.0), 2)
    first, second = world.workers
    for _ in range(80):
        first.use(1)
        first.send()
        first.receive()
    world.store.sides.clear()
    for worker in world.workers:
        worker.mode = SharingMode(is_local=False, workers=2, epoch="another")
    first.window.on_mode_change(first.now)
    first.send()
    first.receive()
    second.use(1)
    second.send()
    second.receive()
    assert not second.use(1)
    world.check()


def used_then_idle(first: float, seconds: float) -> Worker:
    """Return a worker that has used an amount, and nothing for some seconds after that."""
    world = World(RateLimit(Unit.REQUESTS, 100, 60.0), 1)
    (worker,) = world.workers
    for amount in (first, 1.0):
        while not worker.use(amount):
            worker.send()
            worker.receive()
    for _ in range(int(seconds / 0.5)):
        world.now += 0.5
        worker.send()
        worker.receive()
    return worker


@pytest.mark.parametrize(
    ("first", "seconds", "is_kept"), [(10, 5, True), (10, 20, True), (10, 60, False), (70, 5, False)]
)
def test_leases_that_are_not_used_are_kept_while_enough_is_left(first: float, seconds: float, is_kept: bool) -> None:  # noqa: FBT001
    worker = used_then_idle(first, seconds)
    assert (worker.window.available(worker.now) >= 1) is is_kept


@pytest.mark.parametrize(
    ("limit", "available"),
    [
        (RateLimit(Unit.REQUESTS, 10_000, 60.0), 12.5),
        (RateLimit(Unit.REQUESTS, 100, 60.0), 0.125),
        (RateLimit(Unit.REQUESTS, 10_000, 18_000.0), 0.0),
        (RateLimit(Unit.DOLLARS, 10_000, 60.0), 0.0),
    ],
)
def test_a_small_share_of_a_rate_limit_may_be_used_before_the_first_lease(limit: RateLimit, available: float) -> None:
    (worker,) = World(limit, 1).workers
    worker.mode = SharingMode(is_local=True, workers=4, epoch="e", until=worker.now + 1.0)
    assert worker.window.available(worker.now) > available
    worker.world.now += 1.0
    assert worker.window.available(worker.now) == pytest.approx(available)
    worker.window.take(worker.now, min(available, 1.0))
    assert worker.window.available(worker.now) == pytest.approx(available - min(available, 1.0))
