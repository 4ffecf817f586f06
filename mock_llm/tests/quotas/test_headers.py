from __future__ import annotations

import pytest

from evenkeel_mock.parsing.durations import DAY, HOUR, MINUTE, NS
from evenkeel_mock.quotas.headers import Dialect, of_limits
from evenkeel_mock.quotas.limits import UNLIMITED, AccountLimits, Window
from evenkeel_mock.quotas.windows import UNUSED, State, admit

NOW = 1_777_936_568 * NS
RATES = AccountLimits(windows=(Window("rpm", MINUTE * NS, 500), Window("tpm", MINUTE * NS, 30_000, counts_tokens=True)))
QUOTAS = AccountLimits(
    windows=(
        Window("weekly", 7 * DAY * NS, 1000, counts_tokens=True),
        Window("5h", 5 * HOUR * NS, 4),
        Window("odd one", 30 * DAY * NS, 100),
    )
)


def state_of(limits: AccountLimits, *tokens: int) -> State:
    state = UNUSED
    for amount in tokens:
        rejection, state = admit(state, limits, NOW, amount)
        assert rejection is None
    return state


def test_rates_in_openai_words() -> None:
    headers = of_limits(state_of(RATES, 1000, 500), RATES, NOW + 2500 * NS // 1000, Dialect.OPENAI)
    assert dict(headers) == {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "498",
        "x-ratelimit-reset-requests": "57.5s",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "28500",
        "x-ratelimit-reset-tokens": "57.5s",
    }


def test_rates_in_anthropic_words() -> None:
    headers = of_limits(state_of(RATES, 1000, 500), RATES, NOW + NS, Dialect.ANTHROPIC)
    assert dict(headers) == {
        "anthropic-ratelimit-requests-limit": "500",
        "anthropic-ratelimit-requests-remaining": "498",
        "anthropic-ratelimit-requests-reset": "2026-05-04T23:17:08Z",
        "anthropic-ratelimit-tokens-limit": "30000",
        "anthropic-ratelimit-tokens-remaining": "28500",
        "anthropic-ratelimit-tokens-reset": "2026-05-04T23:17:08Z",
    }


def test_quotas_in_openai_words_the_shortest_first() -> None:
    headers = dict(of_limits(state_of(QUOTAS, 100, 29), QUOTAS, NOW + NS, Dialect.OPENAI))
    assert headers == {
        "x-codex-primary-used-percent": "50",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-after-seconds": str(5 * HOUR - 1),
        "x-codex-primary-reset-at": str(1_777_936_568 + 5 * HOUR),
        "x-codex-secondary-used-percent": "12",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-after-seconds": str(7 * DAY - 1),
        "x-codex-secondary-reset-at": str(1_777_936_568 + 7 * DAY),
    }


def test_quotas_in_anthropic_words() -> None:
    headers = dict(of_limits(state_of(QUOTAS, 900, 29), QUOTAS, NOW + NS, Dialect.ANTHROPIC))
    assert headers == {
        "anthropic-ratelimit-unified-7d-status": "allowed",
        "anthropic-ratelimit-unified-7d-utilization": "0.929",
        "anthropic-ratelimit-unified-7d-reset": str(1_777_936_568 + 7 * DAY),
        "anthropic-ratelimit-unified-5h-status": "allowed",
        "anthropic-ratelimit-unified-5h-utilization": "0.5",
        "anthropic-ratelimit-unified-5h-reset": str(1_777_936_568 + 5 * HOUR),
        "anthropic-ratelimit-unified-odd-one-status": "allowed",
        "anthropic-ratelimit-unified-odd-one-utilization": "0.02",
        "anthropic-ratelimit-unified-odd-one-reset": str(1_777_936_568 + 30 * DAY),
        "anthropic-ratelimit-unified-status": "allowed",
        "anthropic-ratelimit-unified-reset": str(1_777_936_568 + 7 * DAY),
    }


def test_a_used_up_quota_is_rejected_until_the_last_of_them_is_back() -> None:
    limits = AccountLimits(windows=QUOTAS.windows[1::-1])
    headers = dict(of_limits(state_of(limits, 997, 1, 1, 1), limits, NOW + NS, Dialect.ANTHROPIC))
    assert headers["anthropic-ratelimit-unified-5h-status"] == "rejected"
    assert headers["anthropic-ratelimit-unified-7d-status"] == "rejected"
    assert headers["anthropic-ratelimit-unified-status"] == "rejected"
    assert headers["anthropic-ratelimit-unified-reset"] == str(1_777_936_568 + 7 * DAY)


def test_the_fuller_of_two_windows_of_one_name_is_told() -> None:
    both = AccountLimits(
        windows=(Window("5h", 5 * HOUR * NS, 10), Window("5h", 5 * HOUR * NS, 100, counts_tokens=True))
    )
    headers = dict(of_limits(state_of(both, 80), both, NOW, Dialect.ANTHROPIC))
    assert headers["anthropic-ratelimit-unified-5h-utilization"] == "0.8"


@pytest.mark.parametrize("dialect", list(Dialect))
def test_what_is_not_limited_is_not_told(dialect: Dialect) -> None:
    assert of_limits(UNUSED, UNLIMITED, NOW, dialect) == []
    assert of_limits(UNUSED, AccountLimits(concurrency=3), NOW, dialect) == []


def test_an_unused_window_is_all_there() -> None:
    headers = dict(of_limits(UNUSED, RATES, NOW, Dialect.OPENAI))
    assert (headers["x-ratelimit-remaining-requests"], headers["x-ratelimit-reset-requests"]) == ("500", "0s")
