from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation.admission import queue as module
from litellm_evenkeel.rotation.admission.queue import AdmissionQueue
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conftest import World

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.deployment_state import Reservation

LONG = 30.0


class Before:
    """A group of accounts that bear one request at a time each, unless told otherwise, and those who wait for one."""

    def __init__(self, world: World, number: int = 1, limits: Mapping[str, object] | None = None) -> None:
        self.world = world
        self.pool = world.made(opened=self.woken)
        self.errors: list[tuple[str, str]] = []
        self.waiting = AdmissionQueue(self.pool, lambda where, error: self.errors.append((where, str(error))))
        specs = (world.seat(str(each), limits or {"concurrent": 1}) for each in range(number))
        self.candidates: CandidateSet = world.group(*specs)

    def woken(self, candidates: CandidateSet) -> None:
        self.waiting.wake(candidates)

    def come(
        self, client: str = "c", seconds: float = LONG, *, tokens: float = 0.0, is_there: bool = True
    ) -> asyncio.Task:
        request = PickRequest(Usage(1.0, tokens), client=client)
        return asyncio.create_task(
            self.waiting.wait(self.candidates, request, seconds, lambda _position, _place: is_there)
        )

    @property
    def in_flight(self) -> int:
        return sum(deployment.in_flight for deployment in self.candidates.deployments)


@pytest.fixture
def before(world: World) -> Before:
    return Before(world)


async def turns(number: int = 5) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_who_waits_is_served_when_something_is_freed(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    waiter = before.come()
    await turns()
    assert before.waiting.is_queued(before.candidates)
    assert before.waiting.lengths() == {"g": 1}
    before.pool.release(reservation)
    found = await waiter
    assert isinstance(found, Pick)
    assert before.in_flight == 1
    assert not before.waiting.is_queued(before.candidates)


async def test_what_is_free_already_is_not_waited_for(before: Before) -> None:
    assert isinstance(await before.come(), Pick)


async def test_clients_take_turns(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    order: list[str] = []

    async def ask(client: str) -> None:
        found = await before.come(client)
        order.append(client)
        await asyncio.sleep(0.001)
        before.pool.release(found.reservation)

    async with asyncio.TaskGroup() as tasks:
        for client in ("much", "much", "much", "much", "little", "other"):
            tasks.create_task(ask(client))
        await turns()
        before.pool.release(reservation)
    assert order == ["much", "little", "other", "much", "much", "much"]


async def test_nobody_waits_longer_than_it_may(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    short, long = before.come(seconds=0.02), before.come()
    found = await short
    assert isinstance(found, NoCapacity)
    assert found.blocker is not None
    assert found.blocker.reason is BlockReason.CONCURRENCY
    assert not long.done()
    before.pool.release(reservation)
    assert isinstance(await long, Pick)
    assert before.in_flight == 1


async def test_what_opens_by_itself_is_noticed(before: Before) -> None:
    candidates = before.world.group(before.world.seat("limited", {"rpm": 1}))
    before.world.pick(candidates)
    waiter = asyncio.create_task(before.waiting.wait(candidates, PickRequest(client="c"), LONG, lambda *_: True))
    await turns()
    before.world.now += 90
    assert isinstance(await waiter, Pick)


async def test_who_leaves_while_waiting_takes_nothing(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    gone, stays = before.come(), before.come()
    await turns()
    gone.cancel()
    before.pool.release(reservation)
    found = await stays
    assert isinstance(found, Pick)
    assert before.in_flight == 1
    assert gone.cancelled()
    assert not before.waiting.is_queued(before.candidates)


async def test_who_leaves_in_the_moment_of_being_served_gives_it_back(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    gone, stays = before.come("a"), before.come("b")
    await turns()
    before.pool.release(reservation)
    await asyncio.sleep(0)
    # It has been given the account, and does not know it yet.
    assert before.in_flight == 1
    gone.cancel()
    found = await stays
    assert gone.cancelled()
    assert isinstance(found, Pick)
    assert before.in_flight == 1


async def test_who_has_waited_among_other_candidates_is_told(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    waiter = before.come(is_there=False)
    await turns()
    before.pool.release(reservation)
    assert await waiter is None
    assert before.in_flight == 0
    assert not before.waiting.is_queued(before.candidates)


async def test_a_line_has_an_end(before: Before, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_QUEUED", 2)
    before.world.pick(before.candidates)
    waiters = [before.come() for _ in range(2)]
    await turns()
    assert isinstance(await before.come(), NoCapacity)
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    assert not before.waiting.is_queued(before.candidates)


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_happens_nothing_is_lost(seed: int, world: World) -> None:
    before, chance = Before(world, 3), random.Random(seed)
    held = [before.world.pick(before.candidates).reservation for _ in range(3)]
    waiters: list[asyncio.Task] = []

    def served(found: list[object]) -> list[Reservation]:
        return [one.reservation for one in found if isinstance(one, Pick)]

    for _ in range(150):
        what = chance.random()
        if what < 0.5:
            waiters.append(before.come(chance.choice("abc"), chance.choice([0.001, LONG])))
        elif what < 0.7 and waiters:
            chance.choice(waiters).cancel()
        elif held:
            before.pool.release(held.pop())
        if chance.random() < 0.6:
            await asyncio.sleep(0)
        held += served([one.result() for one in waiters if one.done() and not one.cancelled()])
        waiters = [one for one in waiters if not one.done()]
        assert before.in_flight <= 3
    for waiter in waiters:
        waiter.cancel()
    held += served(await asyncio.gather(*waiters, return_exceptions=True))
    assert before.in_flight == len(held)
    assert before.waiting.lengths() == {}


async def test_who_is_held_to_a_part_sees_to_it_that_it_is_shared_anew(world: World) -> None:
    before = Before(world)
    fairness = before.candidates.fair_share
    for number in range(200):
        for client in ("a", "b"):
            fairness.admission_delay(client, world.now - 2 + number / 100)
    # The state of scarce capacity: no client picks any more, because all are held to their fair shares.
    fairness.share(1.0, 100.0, 60.0, world.now)
    while not fairness.delay("a", world.now):
        fairness.record_pick("a")
    assert fairness.is_scarce
    waiter = before.come("a")
    await turns()
    assert not waiter.done()
    world.now += 11
    await asyncio.wait_for(waiter, LONG)
    assert not fairness.is_scarce


class Looks:
    """The number of checks of an account."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number, look = 0, DeploymentState.blocker

        def looked(place: DeploymentState, need: Usage, now: float) -> object:
            self.number += 1
            return look(place, need, now)

        monkeypatch.setattr(DeploymentState, "blocker", looked)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@pytest.mark.parametrize("limits", [{"concurrent": 1}, {"rpm": 1}, {"tpm": 1000}])
async def test_many_who_wait_for_what_is_full_look_at_it_once(
    limits: dict[str, object], world: World, looks: Looks
) -> None:
    number, before = 100, Before(world, 100, limits)
    for _ in range(number):
        world.pick(before.candidates, PickRequest(Usage(1.0, 1000.0)))
    # Each needs less than all before it.
    waiters = [before.come(f"client {each}", tokens=900.0 - each) for each in range(200)]
    await turns()
    assert before.waiting.lengths() == {"g": 200}
    assert looks.number <= 10 * number
    looks.number = 0
    for _ in range(50):
        before.waiting.wake(before.candidates)
        await turns()
    assert looks.number <= 10 * number
    await left(waiters)


async def test_of_what_is_freed_all_but_that_is_looked_at_no_more(world: World, looks: Looks) -> None:
    number, before = 500, Before(world, 500)
    reservations = []
    for _ in range(number):
        # Each of them is known to be full since another moment.
        world.now += 0.002
        reservations.append(world.pick(before.candidates).reservation)
        assert reservations[-1].deployment.blocker(Usage(), world.now)
    waiters = [before.come(f"client {each}") for each in range(200)]
    await turns()
    looks.number = 0
    for reservation in reservations[:50]:
        world.now += 0.001
        before.pool.release(reservation)
        await turns()
    assert sum(waiter.done() for waiter in waiters) == 50
    assert looks.number <= 5 * number
    await left(waiters)


async def test_others_have_the_loop_between_offers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_SECONDS", 0.0)
    number, before = 20, Before(world, 20)
    reservations = [world.pick(before.candidates).reservation for _ in range(number)]
    waiters = [before.come(f"client {each}") for each in range(number)]
    await turns()
    for reservation in reservations:
        before.pool.release(reservation)
    under_way = [before.in_flight]
    while under_way[-1] < number:
        await asyncio.sleep(0)
        under_way.append(before.in_flight)
    assert under_way == list(range(number + 1))
    await asyncio.gather(*waiters)


@pytest.fixture
def large(world: World) -> Before:
    """An account of which less is left than one needs who waits."""
    before = Before(world, 1, {"tpm": 1000})
    world.pool.settle(world.pick(before.candidates, PickRequest(Usage(1, 600))).reservation, Usage(1, 600))
    return before


async def test_a_large_request_blocks_its_own_client_and_no_other(large: Before) -> None:
    first = large.come(tokens=900.0)
    await turns()
    small, other = large.come(tokens=100.0), large.come("other", tokens=100.0)
    assert isinstance(await other, Pick)
    assert not small.done()
    large.world.now += 90
    assert isinstance(await first, Pick)
    assert isinstance(await small, Pick)


async def test_what_is_behind_a_large_request_is_served_when_that_leaves(large: Before) -> None:
    first, small = large.come(tokens=900.0), large.come(tokens=100.0)
    await turns()
    assert not small.done()
    first.cancel()
    assert isinstance(await small, Pick)


async def test_requests_of_one_client_are_served_in_order_if_each_can_be(before: Before) -> None:
    reservation = before.world.pick(before.candidates).reservation
    waiters = [before.come(tokens=tokens) for tokens in (900.0, 10.0, 500.0)]
    for waiter in waiters:
        await turns()
        assert not waiter.done()
        before.pool.release(reservation)
        reservation = (await waiter).reservation


async def test_an_error_of_ours_is_told_and_leaves_nobody_waiting(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    before.world.pick(before.candidates)
    waiters = [before.come(client) for client in "aab"]
    await turns()

    def breaks(*_: object) -> None:
        raise ZeroDivisionError("ours")

    with monkeypatch.context() as broken:
        broken.setattr(before.pool, "pick", breaks)
        before.waiting.wake(before.candidates)
        # They are to look for themselves.
        assert await asyncio.gather(*waiters) == [None, None, None]
    assert before.errors == [("serving the queue", "ours")]
    assert before.waiting.lengths() == {}


async def left(waiters: list[asyncio.Task]) -> None:
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
