"""The time of a search, on a clock that the tests set."""

from __future__ import annotations

import pytest

from evenkeel_lab.runner.bisection import budget as module
from evenkeel_lab.runner.bisection.budget import RESERVE_SECONDS, Budget

LEAST = 200.0


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_comparisons_share_what_the_others_have_left(clock: Clock) -> None:
    budget = Budget(1800.0, LEAST)
    with budget.share(4) as seconds:
        assert seconds == 450.0 - RESERVE_SECONDS
        clock.now += 300.0
    with budget.share(3) as seconds:
        assert seconds == 500.0 - RESERVE_SECONDS
        clock.now += 1400.0
    with budget.share(1) as seconds:
        assert seconds == 0.0
    assert budget.used == 1700.0


def test_a_comparison_has_the_least_time_even_if_more_follow(clock: Clock) -> None:
    with Budget(LEAST + RESERVE_SECONDS, LEAST).share(4) as seconds:
        assert seconds == LEAST


def test_no_comparison_begins_without_the_least_time(clock: Clock) -> None:
    with Budget(LEAST + RESERVE_SECONDS - 1, LEAST).share(1) as seconds:
        assert seconds == 0.0
