from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from evenkeel_lab.bench.failover.profile import Stretch, Trouble, living, times, total
from evenkeel_lab.bench.failover.timeline import SHARE, drill
from evenkeel_lab.stack.litellm.accounts import Account, unequal_accounts

stretches = st.lists(st.tuples(st.floats(0.5, 20), st.floats(0.5, 80)), min_size=1, max_size=5)


@given(stretches)
def test_as_many_are_due_as_the_rates_ask_for(parts: list[tuple[float, float]]) -> None:
    at, found = 0.0, []
    for lasts, rate in parts:
        found.append(Stretch(at, rate))
        at += lasts
    due = times(found, at)
    assert len(due) == pytest.approx(sum(lasts * rate for lasts, rate in parts), abs=len(parts))
    assert due == sorted(due)
    assert not due or (due[0] > 0 and due[-1] < at)
    slowest = min(rate for _, rate in parts)
    assert all(after - before <= 1 / slowest + 1e-6 for before, after in pairwise(due))


def test_what_is_asked_for_falls_when_an_account_dies_and_rises_when_it_comes_back() -> None:
    accounts = [Account("a", 600), Account("b", 300), Account("q", 600, {"name": "5h", "for": "5h", "requests": 9})]
    troubles = [Trouble("a", "status=429", 5.0, 3.0), Trouble("b", "hang", 20.0)]
    assert living(accounts, troubles, 0.5) == [
        Stretch(0.0, 7.5),
        Stretch(5.0, 2.5),
        Stretch(8.0, 7.5),
        Stretch(20.0, 5.0),
    ]


def test_no_more_is_asked_for_than_the_living_bear() -> None:
    wanted = drill()
    for moment in range(55):
        dead = {one.account for one in wanted.troubles if one.is_on(moment + 0.5)}
        bear = total(account for account in wanted.accounts if account.name not in dead)
        due = sum(moment <= one < moment + 1 for one in wanted.due)
        # A second in which one dies has its requests of before.
        starts = any(moment <= one.at < moment + 1 for one in wanted.troubles)
        assert starts or due <= SHARE * bear + 1


def test_every_trouble_has_an_account_of_its_own() -> None:
    wanted = drill(20.0)
    names = [one.account for one in wanted.troubles] + [one.name for one in wanted.accounts if one.quota]
    assert len(set(names)) == len(names) == 6
    assert {account.name for account in wanted.accounts} == {account.name for account in unequal_accounts(8)}
