from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from hypothesis import given, settings, strategies as st

from litellm_evenkeel.rotation.admission.fair_queue import FairQueue, OfferResult

if TYPE_CHECKING:
    from collections.abc import Callable

clients = st.sampled_from("abcd")


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("join"), clients),
            st.tuples(st.just("leave"), st.integers(0, 30)),
            st.tuples(st.just("serve"), st.integers(0, 5)),
        ),
        max_size=60,
    )
)
def test_nobody_is_lost_or_served_twice_and_each_client_keeps_its_order(steps: list[tuple[str, object]]) -> None:
    queue: FairQueue[int] = FairQueue()
    standing: dict[int, str] = {}
    joined = 0
    for what, which in steps:
        if what == "join":
            queue.add(str(which), joined)
            standing[joined] = str(which)
            joined += 1
        elif what == "leave":
            waiter = int(str(which))
            client = standing.pop(waiter, None)
            assert queue.remove(client or "a", waiter) == (client is not None)
        else:
            free = int(str(which))
            taken = serve(queue, free)
            assert len(taken) == min(free, len(standing))
            for waiter in taken:
                client = standing.pop(waiter)
                assert not [other for other, owner in standing.items() if owner == client and other < waiter]
        assert len(queue) == len(standing)
        assert len(list(queue.heads())) == len(set(standing.values()))
    assert sorted(serve(queue, 1000)) == sorted(standing)


def serve(queue: FairQueue[int], free: int) -> list[int]:
    """Take `free` requests from the queue."""
    taken: list[int] = []

    def give(waiter: int) -> bool:
        if len(taken) < free:
            taken.append(waiter)
            return True
        return False

    offer(queue, give)
    return taken


def offer(queue: FairQueue, give: Callable[..., bool]) -> None:
    """Offer to all in turn, without a pause."""
    for _ in queue.serve(lambda waiter: OfferResult.ACCEPTED if give(waiter) else OfferResult.BLOCKED):
        pass


@given(st.dictionaries(clients, st.integers(1, 20), min_size=2), st.integers(1, 40))
def test_no_client_gets_two_more_than_another_that_waits(asked: dict[str, int], free: int) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    for client, number in asked.items():
        for each in range(number):
            queue.add(client, (client, each))
    left = deque([1] * free)
    got = dict.fromkeys(asked, 0)

    def give(waiter: tuple[str, int]) -> bool:
        if not left:
            return False
        left.popleft()
        got[waiter[0]] += 1
        return True

    # Freed one by one or all at once, it comes to the same.
    offer(queue, give)
    for client, number in asked.items():
        if got[client] < number:
            assert got[client] >= max(got.values()) - 1


def test_who_could_not_be_served_keeps_the_turn() -> None:
    queue: FairQueue[str] = FairQueue()
    for client in "abc":
        queue.add(client, client)
        queue.add(client, client.upper())
    offer(queue, lambda _: False)
    # There is something, but not for the first.
    taken: list[str] = []
    offer(queue, lambda waiter: waiter == "b" and not taken.append(waiter))
    assert taken == ["b"]
    offered: list[str] = []
    offer(queue, lambda waiter: bool(offered.append(waiter)))
    assert offered == ["a", "c", "B"]


def test_a_blocked_request_blocks_the_later_ones_of_its_client_only() -> None:
    queue: FairQueue[str] = FairQueue()
    for waiter in ("a1", "a2", "b1"):
        queue.add(waiter[0], waiter)
    taken: list[str] = []
    offer(queue, lambda waiter: waiter != "a1" and not taken.append(waiter))
    assert taken == ["b1"]
    assert list(queue) == ["a1", "a2"]


def test_a_request_that_no_longer_waits_blocks_no_other() -> None:
    queue: FairQueue[str] = FairQueue()
    for waiter in ("a1", "a2", "a3", "b1"):
        queue.add(waiter[0], waiter)
    results = {"a1": OfferResult.GONE, "a2": OfferResult.ACCEPTED}
    for _ in queue.serve(lambda waiter: results.get(waiter, OfferResult.BLOCKED)):
        pass
    assert list(queue) == ["b1", "a3"]


def test_a_round_may_pause_while_requests_come_and_go() -> None:
    queue: FairQueue[str] = FairQueue()
    for waiter in ("a1", "b1", "c1"):
        queue.add(waiter[0], waiter)
    offered: list[str] = []

    def answer(waiter: str) -> OfferResult:
        offered.append(waiter)
        return OfferResult.BLOCKED

    steps = queue.serve(answer)
    next(steps)
    queue.remove("b", "b1")
    queue.add("d", "d1")
    list(steps)
    assert offered == ["a1", "c1"]


@given(st.lists(st.tuples(st.sampled_from(["join", "leave"]), clients), max_size=100))
def test_the_first_request_of_each_client_is_its_head(steps: list[tuple[str, str]]) -> None:
    queue: FairQueue[int] = FairQueue()
    standing: dict[str, list[int]] = {}
    for number, (what, client) in enumerate(steps):
        if what == "join":
            queue.add(client, number)
            standing.setdefault(client, []).append(number)
        elif standing.get(client):
            queue.remove(client, standing[client].pop(number % len(standing[client])))
        assert sorted(queue.heads()) == sorted(waiters[0] for waiters in standing.values() if waiters)


def test_nobody_in_it_serves_nobody() -> None:
    queue: FairQueue[int] = FairQueue()
    offer(queue, lambda _: True)
    assert not queue.remove("a", 1)
