from __future__ import annotations

from collections import deque

from hypothesis import given, settings, strategies as st

from litellm_evenkeel.rotation.line import Line

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
    line: Line[int] = Line()
    standing: dict[int, str] = {}
    joined = 0
    for what, which in steps:
        if what == "join":
            line.join(str(which), joined)
            standing[joined] = str(which)
            joined += 1
        elif what == "leave":
            waiter = int(str(which))
            client = standing.pop(waiter, None)
            assert line.leave(client or "a", waiter) == (client is not None)
        else:
            free = int(str(which))
            taken = serve(line, free)
            assert len(taken) == min(free, len(standing))
            for waiter in taken:
                client = standing.pop(waiter)
                assert not [other for other, owner in standing.items() if owner == client and other < waiter]
        assert len(line) == len(standing)
        assert line.clients == len(set(standing.values()))
    assert sorted(serve(line, 1000)) == sorted(standing)


def serve(line: Line[int], free: int) -> list[int]:
    """Let so many be taken."""
    taken: list[int] = []

    def give(waiter: int) -> bool:
        if len(taken) < free:
            taken.append(waiter)
            return True
        return False

    assert line.serve(give) == len(taken)
    return taken


@given(st.dictionaries(clients, st.integers(1, 20), min_size=2), st.integers(1, 40))
def test_no_client_gets_two_more_than_another_that_waits(asked: dict[str, int], free: int) -> None:
    line: Line[tuple[str, int]] = Line()
    for client, number in asked.items():
        for each in range(number):
            line.join(client, (client, each))
    left = deque([1] * free)
    got = dict.fromkeys(asked, 0)

    def give(waiter: tuple[str, int]) -> bool:
        if not left:
            return False
        left.popleft()
        got[waiter[0]] += 1
        return True

    # Freed one by one or all at once, it comes to the same.
    line.serve(give)
    for client, number in asked.items():
        if got[client] < number:
            assert got[client] >= max(got.values()) - 1


def test_who_could_not_be_served_keeps_the_turn() -> None:
    line: Line[str] = Line()
    for client in "abc":
        line.join(client, client)
        line.join(client, client)
    assert line.serve(lambda waiter: False) == 0
    # There is something, but not for the first.
    taken: list[str] = []
    assert line.serve(lambda waiter: waiter == "b" and not taken and (taken.append(waiter) or True)) == 1
    offered: list[str] = []
    line.serve(lambda waiter: offered.append(waiter) or False)
    assert offered == ["a", "c", "b"]


def test_nobody_in_it_serves_nobody() -> None:
    assert Line().serve(lambda _: True) == 0
    assert not Line().leave("a", 1)
