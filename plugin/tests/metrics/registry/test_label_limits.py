"""Bounds: who has series of his own."""

from __future__ import annotations

from hypothesis import given, strategies as st

from litellm_evenkeel.metrics.registry.label_limits import OTHER, LabelLimits


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def bounds(clock: Clock, retired: list[tuple[str, str]] | None = None) -> LabelLimits:
    found = [] if retired is None else retired
    return LabelLimits(clock, {"end_user": 2}, 10.0, lambda name, value: found.append((name, value)))


def test_whoever_comes_while_there_is_room_keeps_his_place() -> None:
    one = bounds(Clock())
    assert [one.bound("end_user", user) for user in ("a", "b", "c", "a", "c", "b")] == [
        "a",
        "b",
        OTHER,
        "a",
        OTHER,
        "b",
    ]
    assert (one.collapsed["end_user"], one.value_counts()) == (2, {"end_user": 2})


def test_who_was_silent_for_long_makes_room() -> None:
    clock, retired = Clock(), []
    one = bounds(clock, retired)
    one.bound("end_user", "a")
    clock.now = 5.0
    one.bound("end_user", "b")
    clock.now = 10.0
    assert (one.bound("end_user", "c"), retired) == ("c", [("end_user", "a")])
    assert one.bound("end_user", "a") == OTHER


def test_other_labels_and_nothing_are_told_as_they_are() -> None:
    one = bounds(Clock())
    assert [one.bound("team", str(number)) for number in range(9)] == [str(number) for number in range(9)]
    assert [one.bound("end_user", None) for _ in range(9)] == [None] * 9
    assert [one.bound("end_user", user) for user in (OTHER, "None", "", "a", "b")] == [OTHER, "None", "", "a", "b"]


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 6).map(str)), max_size=200))
def test_there_are_never_more_than_there_may_be(asked: list[tuple[float, str]]) -> None:
    clock, retired = Clock(), []
    one = bounds(clock, retired)
    alive: set[str] = set()
    for pause, user in asked:
        clock.now += pause
        exported = one.bound("end_user", user)
        alive -= {value for _, value in retired}
        retired.clear()
        assert exported in {user, OTHER}
        if exported == user:
            alive.add(user)
        assert len(alive) <= 2
        assert one.value_counts() == {"end_user": len(alive)}
