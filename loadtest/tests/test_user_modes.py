from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from evenkeel_load.user_modes import USER_MODES, CreatedUser

users = st.integers(1, 40)
turns = st.integers(1, 12)
periods = st.integers(0, 5)


def stream(mode: str, users: int, turns: int, requests_per_user: int = 1, run: str = "run") -> list[str | None]:
    of = USER_MODES[mode](7, run, requests_per_user)
    return [of.user_id(user, turn) for turn in range(turns) for user in range(users)]


@given(users, turns)
def test_none_names_nobody(users: int, turns: int) -> None:
    assert set(stream("none", users, turns)) == {None}


@given(users, turns)
def test_sequential_counts_from_one_and_each_user_keeps_its_number(users: int, turns: int) -> None:
    assert stream("sequential", users, turns) == [str(user + 1) for user in range(users)] * turns


@pytest.mark.parametrize("mode", ["random", "created"])
@given(users, turns)
def test_an_id_is_fresh_for_each_request(mode: str, users: int, turns: int) -> None:
    ids = stream(mode, users, turns)
    assert len(set(ids)) == len(ids) == users * turns


@pytest.mark.parametrize("mode", ["random", "created"])
@given(users, turns, periods)
def test_an_id_is_kept_for_so_many_requests_of_its_user(mode: str, users: int, turns: int, kept: int) -> None:
    ids = stream(mode, users, turns, kept)
    uses = Counter(ids)
    assert len(uses) == users * (-(-turns // kept) if kept else 1)
    assert max(uses.values()) == min(kept or turns, turns)
    for user in range(users):
        own = ids[user::users]
        assert own == sorted(own, key=own.index)


@pytest.mark.parametrize("mode", ["random", "created"])
def test_another_run_has_other_ids_and_the_same_run_the_same(mode: str) -> None:
    first = stream(mode, 5, 3)
    assert stream(mode, 5, 3) == first
    assert not set(first) & set(stream(mode, 5, 3, run="another"))


@given(users, turns, periods)
def test_what_has_to_be_created_is_what_will_be_sent(users: int, turns: int, kept: int) -> None:
    created = CreatedUser(7, "run", kept).user_ids(users, turns)
    assert len(created) == len(set(created))
    assert set(created) == set(stream("created", users, turns, kept))
