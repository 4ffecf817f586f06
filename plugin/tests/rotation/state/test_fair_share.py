"""While capacity is scarce, every active client gets an equal share."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.state.fair_share import FairShare, RemainingCapacity


def served(rates: dict[str, float], seconds: float, left: float, total: float) -> dict[str, int]:
    """Simulate clients with steady rates while `left` requests remain and nothing returns."""
    fair_share, picks = FairShare(), dict.fromkeys(rates, 0)
    due = [(number / rate, client) for client, rate in rates.items() for number in range(int(rate * seconds))]
    shared_at = -math.inf
    for moment, client in sorted(due):
        now = 1000.0 + moment
        if now >= shared_at + 0.5:
            fair_share.share(left, total, max(seconds - moment, 0.1), now)
            shared_at = now
        delay = fair_share.admission_delay(client, now)
        assert delay == pytest.approx(fair_share.delay(client, now))
        if left >= 1 and not delay:
            fair_share.record_pick(client)
            picks[client] += 1
            left -= 1
    return picks


def test_a_client_with_many_requests_leaves_enough_to_the_others() -> None:
    picks = served({"small": 1.0, "large": 20.0}, 60.0, 600.0, 600.0)
    assert picks["small"] >= 59
    assert sum(picks.values()) >= 0.9 * 600


def test_scarce_capacity_is_shared_equally_whatever_clients_demand() -> None:
    picks = served({"much": 9.0, "more": 18.0}, 60.0, 150.0, 600.0)
    assert picks["much"] == pytest.approx(picks["more"], rel=0.25)


@given(st.integers(2, 6), st.floats(2, 40))
def test_no_client_is_starved(clients: int, rate: float) -> None:
    picks = served({f"client {number}": rate for number in range(clients)}, 20.0, 60.0, 400.0)
    assert min(picks.values()) >= min(60 // clients, int(rate * 20)) * 0.5


def test_while_there_is_plenty_no_client_waits() -> None:
    fair_share = FairShare()
    for number in range(1000):
        for client in ("a", "b"):
            fair_share.admission_delay(client, 1000 + number / 100)
    fair_share.share(900.0, 1000.0, 60.0, 1010.0)
    assert not fair_share.is_scarce
    assert fair_share.delay("a", 1010.0) == 0


def test_a_single_client_is_never_limited() -> None:
    assert served({"only": 20.0}, 60.0, 600.0, 600.0) == {"only": 600}


def test_accounts_without_limits_are_never_scarce() -> None:
    fair_share, capacity = FairShare(), RemainingCapacity()
    capacity.add(5.0, 100.0, 10.0)
    capacity.add(math.inf, math.inf, 0.0)
    for client in ("a", "b"):
        for number in range(100):
            fair_share.admission_delay(client, 1000 + number / 100)
    assert not capacity.share(fair_share, 1001.0)
    assert not fair_share.is_scarce


def test_a_quota_of_hours_does_not_stop_clients_that_limits_of_a_minute_serve() -> None:
    fair_share, capacity = FairShare(), RemainingCapacity()
    capacity.add(150.0, 810.0, 10.0)
    capacity.add(31.0, 33.0, 5 * 3600.0)
    for number in range(220):
        fair_share.admission_delay("abcd"[number % 4], 1000 + number / 11)
    capacity.share(fair_share, 1020.0)
    assert not fair_share.is_scarce


def test_low_capacity_is_watched_more_closely() -> None:
    capacity = RemainingCapacity()
    capacity.add(40.0, 100.0, 10.0)
    assert capacity.share(FairShare(), 1000.0)
