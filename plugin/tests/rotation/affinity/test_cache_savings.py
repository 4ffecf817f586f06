"""Savings of session affinity, which may be negative."""

from __future__ import annotations

import pytest

from litellm_evenkeel.rotation.affinity.cache_savings import CacheSavingsCounter, SessionOutcome


def test_what_hits_found_beyond_what_others_do() -> None:
    affinity = CacheSavingsCounter()
    affinity.observe(SessionOutcome.NEW, 1000, 100)
    affinity.observe(SessionOutcome.HIT, 3000, 2700)
    affinity.observe(SessionOutcome.HIT, 1000, 900)
    affinity.observe(SessionOutcome.FALLBACK, 500, 100)
    affinity.observe(SessionOutcome.MOVED, 500, 0)
    savings = affinity.savings()
    assert savings.saved_over_new == pytest.approx(3600 - 400)
    assert savings.saved_over_moved == pytest.approx(3600 - 400)
    assert (savings.hits.requests, savings.misses.requests, savings.away.requests) == (2, 1, 2)


def test_a_loss_is_told() -> None:
    affinity = CacheSavingsCounter()
    affinity.observe(SessionOutcome.NEW, 1000, 500)
    affinity.observe(SessionOutcome.HIT, 1000, 100)
    assert affinity.savings().saved_over_new == pytest.approx(-400)


def test_what_was_never_compared_is_not_known() -> None:
    affinity = CacheSavingsCounter()
    affinity.observe(SessionOutcome.HIT, 1000, 900)
    affinity.observe(SessionOutcome.NEW, 0, 0)
    assert affinity.savings().saved_over_new is None
    assert affinity.savings().saved_over_moved is None


def test_no_more_is_cached_than_was_read() -> None:
    affinity = CacheSavingsCounter()
    affinity.observe(SessionOutcome.HIT, 10, 500)
    affinity.observe(SessionOutcome.HIT, 10, -5)
    assert affinity.savings().hits.share == 0.5
