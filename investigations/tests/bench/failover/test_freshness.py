"""The time for which a dead account still gets requests, with immediate and with delayed updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.bench.failover.freshness import LATENCY, MILLISECONDS, after_death, at_proxy

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.alone

# Requests per second that a slow machine serves too.
SLOW = 8.0


def test_a_dead_account_gets_requests_for_longer_if_failures_count_with_the_next_snapshot() -> None:
    at_once, late = (after_death(4, ttl=1.0, at_once=is_at_once) for is_at_once in (True, False))
    # At once: only the requests that were in flight at the first failure.
    assert at_once >= LATENCY * MILLISECONDS
    assert 2 * at_once < late


@pytest.mark.slow
@pytest.mark.thorough
def test_a_dead_account_of_a_proxy_gets_fewer_requests_with_the_rotation(
    run_drill: Callable[[Callable[[], int]], int],
) -> None:
    with_rotation = run_drill(lambda: at_proxy(1, rate=SLOW))
    assert with_rotation < run_drill(lambda: at_proxy(1, rotation="simple-shuffle", rate=SLOW))
