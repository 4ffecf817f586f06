"""Limits that providers tell of, and subscriptions of which they only tell a share."""

from __future__ import annotations

import pytest

from litellm_evenkeel.providers.limit_headers import LimitReading
from litellm_evenkeel.rotation.model.limits import RateLimit, Unit
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, Usage
from litellm_evenkeel.rotation.state.provider_limits import MAX_DIMENSIONS, ProviderLimits
from litellm_evenkeel.rotation.state.quota_window import QuotaWindow
from litellm_evenkeel.rotation.state.utilization_window import UtilizationWindow

RPM = RateLimit(Unit.REQUESTS, 100.0, 60.0)


def reading(
    dimension: str = "requests", limit: float | None = 100.0, left: float | None = 40.0, **more: object
) -> LimitReading:
    told = {"window_seconds": None, "used_share": None, "resets_in": 30.0, **more}
    return LimitReading(dimension, told["window_seconds"], limit, left, told["used_share"], told["resets_in"])


def test_an_operators_limit_is_the_same_as_its_providers() -> None:
    own = QuotaWindow(RPM)
    learned = ProviderLimits([own])
    learned.apply([reading()], 1000.0, 1000.0)
    assert learned.windows == (own,)
    assert own.available(1000.0) == 40
    assert learned.is_operator_limit(reading())
    assert not learned.is_operator_limit(reading(limit=500.0))
    assert not learned.is_operator_limit(reading("tokens"))


def test_a_providers_further_limits_stand_beside_it() -> None:
    learned = ProviderLimits([QuotaWindow(RPM)])
    learned.apply([reading("tokens", 5000.0, 10.0), reading("requests", 7.0, 3.0, resets_in=7200.0)], 1000.0, 1000.0)
    assert [(one.limit.unit, one.limit.amount) for one in learned.windows] == [
        (Unit.REQUESTS, 100.0),
        (Unit.TOKENS, 5000.0),
        (Unit.REQUESTS, 7.0),
    ]


def test_a_limit_that_its_provider_has_changed_is_forgotten() -> None:
    learned = ProviderLimits([])
    learned.apply([reading(limit=100.0)], 1000.0, 1000.0)
    learned.apply([reading(limit=200.0)], 1001.0, 1001.0)
    assert [one.limit.amount for one in learned.windows] == [200.0]


def test_whoever_invents_limits_fills_no_memory() -> None:
    learned = ProviderLimits([])
    learned.apply([reading(f"requests-{each}") for each in range(1000)], 1000.0, 1000.0)
    assert len(learned.windows) <= MAX_DIMENSIONS
    last = learned.windows[-1].limit
    learned.apply([reading(f"requests-{MAX_DIMENSIONS - 1}", last.amount + 1, 2.0)], 1001.0, 1001.0)
    assert learned.windows[-1].limit.amount == last.amount + 1


def test_what_tells_nothing_changes_nothing() -> None:
    learned = ProviderLimits([])
    learned.apply([reading(left=None)], 1000.0, 1000.0)
    assert learned.windows == ()


def test_of_a_subscription_it_is_learned_what_a_request_costs() -> None:
    learned = ProviderLimits([])
    learned.apply(
        [reading("unified-5h", None, None, used_share=0.5, resets_in=3600.0, window_seconds=18_000.0)], 1000.0, 1000.0
    )
    (window,) = learned.windows
    assert isinstance(window, UtilizationWindow)
    assert window.amount_of(SINGLE_REQUEST) == 0
    for number in range(1, 4):
        now = 1000.0 + 600 * number
        for _ in range(10):
            window.take(now, window.amount_of(SINGLE_REQUEST))
        used = 0.5 + 0.1 * number
        learned.apply(
            [reading("unified-5h", None, None, used_share=used, resets_in=3600.0, window_seconds=18_000.0)],
            now + 500,
            now + 500,
        )
    assert window.amount_of(SINGLE_REQUEST) == pytest.approx(0.01)
    assert window.amount_of(Usage(3.0, 1000.0)) == pytest.approx(0.03)
    assert window.available(now + 500) == pytest.approx(0.2)


def test_what_a_provider_told_outlives_a_change_of_the_operators_limits() -> None:
    first, tpm = QuotaWindow(RPM), RateLimit(Unit.TOKENS, 5000.0, 60.0)
    learned = ProviderLimits([first])
    learned.apply([reading(), reading("tokens", 5000.0, 0.0)], 1000.0, 1000.0)
    changed = learned.with_operator_windows([QuotaWindow(RateLimit(Unit.REQUESTS, 50.0, 60.0))])
    # The operator's own limit is no more, and what the provider told of it went with it.
    assert [one.limit for one in changed.windows] == [RateLimit(Unit.REQUESTS, 50.0, 60.0), tpm]
    assert changed.windows[1].available(1000.0) == 0
    same = changed.with_operator_windows([QuotaWindow(RateLimit(Unit.TOKENS, 5001.0, 60.0))])
    assert [one.limit.amount for one in same.windows] == [5001.0]
    assert learned.with_operator_windows([first]).windows == learned.windows
