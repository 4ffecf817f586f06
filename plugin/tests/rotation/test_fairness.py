from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.fairness import Fairness, Stock, level

amounts = st.lists(st.floats(0.01, 100), min_size=1, max_size=20)


@given(amounts, st.floats(0.01, 500))
def test_all_of_it_is_given_and_nobody_gets_more_than_it_wants(wanted: list[float], total: float) -> None:
    most = level(wanted, total)
    given_away = sum(min(one, most) for one in wanted)
    assert given_away == pytest.approx(min(total, sum(wanted)))


def asking(fairness: Fairness, seconds: int, rates: dict[str, int], start: float = 1000.0) -> float:
    for second in range(seconds):
        for client, rate in rates.items():
            for each in range(rate):
                fairness.asked(client, start + second + each / rate)
    return start + seconds


def test_with_plenty_nobody_is_held_to_anything() -> None:
    fairness = Fairness()
    now = asking(fairness, 10, {"much": 20, "little": 1})
    fairness.share(1000.0, 1000.0, 60.0, now)
    assert not fairness.is_scarce
    assert fairness.may("much", now)


def test_when_it_runs_low_who_asks_for_little_gets_all_of_it() -> None:
    fairness = Fairness()
    now = asking(fairness, 60, {"much": 20, "little": 1})
    got = dict.fromkeys(("much", "little"), 0)
    for step in range(200):
        at = now + step / 20
        fairness.share(50.0, 1000.0, 10.0, at)
        assert fairness.is_scarce
        for client in ("much", *(["little"] if step % 20 == 0 else [])):
            fairness.asked(client, at)
            if fairness.may(client, at):
                fairness.used(client)
                got[client] += 1
    assert got["little"] == 10
    # What is left of five a second.
    assert 30 <= got["much"] <= 50


def test_one_client_alone_is_held_to_nothing() -> None:
    fairness = Fairness()
    now = asking(fairness, 60, {"much": 20})
    fairness.share(1.0, 1000.0, 10.0, now)
    assert fairness.may("much", now)


def test_clients_that_are_silent_are_forgotten() -> None:
    fairness = Fairness()
    now = asking(fairness, 60, {"much": 20, "gone": 5})
    for _ in range(20):
        now = asking(fairness, 10, {"much": 20}, now)
        fairness.share(1.0, 1000.0, 10.0, now)
    assert not fairness.is_scarce


def test_what_is_free_is_never_shared() -> None:
    stock, fairness = Stock(), Fairness()
    asking(fairness, 60, {"much": 20, "little": 1})
    stock.add(1.0, 100.0, 5.0)
    stock.add(math.inf, math.inf, 0.0)
    assert not stock.share(fairness, 1060.0)
    assert not fairness.is_scarce
