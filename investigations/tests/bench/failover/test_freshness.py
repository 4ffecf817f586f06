"""For how long an account that has died is asked: known at once, and with the next snapshot. A real proxy is slow."""

from __future__ import annotations

import pytest

from evenkeel_lab.bench.failover.freshness import LATENCY, MILLISECONDS, after_death, at_proxy
from evenkeel_lab.errors import ScheduleMissed


@pytest.mark.alone
def test_what_is_known_late_is_used_wrongly_for_longer() -> None:
    at_once, late = (after_death(4, ttl=1.0, at_once=is_at_once) for is_at_once in (True, False))
    # Those that were under way when the first refusal came.
    assert LATENCY * MILLISECONDS <= at_once < late < (1.0 + 3 * LATENCY) * MILLISECONDS


@pytest.mark.slow
def test_at_a_proxy_the_rotation_asks_a_dead_account_less_often_than_litellms_own() -> None:
    try:
        assert at_proxy(1) < at_proxy(1, rotation="simple-shuffle")
    except ScheduleMissed as error:
        pytest.skip(error.what)
