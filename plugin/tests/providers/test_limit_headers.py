"""Limit readings of response headers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.providers.limit_headers import LimitReading, parse_limit_headers

NOW = 1767225600.0
OPENAI = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "125",
    "x-ratelimit-reset-requests": "1m30s",
    "x-ratelimit-limit-tokens": "30000",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "6ms",
}


def read(headers: Any) -> dict[str, LimitReading]:
    return {reading.dimension: reading for reading in parse_limit_headers(headers, now=NOW)}


def test_openai() -> None:
    assert parse_limit_headers(OPENAI, now=NOW) == (
        LimitReading("requests", None, 500.0, 125.0, 0.75, 90.0),
        LimitReading("tokens", None, 30000.0, 0.0, 1.0, 0.006),
    )


@pytest.mark.parametrize("rename", [str.upper, str.title, "llm_provider-{}".format, "LLM_Provider-{}".format])
def test_neither_case_nor_litellms_prefix_matters(rename: Any) -> None:
    assert parse_limit_headers({rename(name): value for name, value in OPENAI.items()}, now=NOW) == parse_limit_headers(
        OPENAI, now=NOW
    )


def test_of_two_spellings_the_providers_own_wins() -> None:
    headers = {"x-ratelimit-remaining-tokens": "9", "llm_provider-x-ratelimit-remaining-tokens": "5"}
    assert read(headers)["tokens"].remaining == 5.0
    assert read(dict(reversed(headers.items())))["tokens"].remaining == 5.0


def test_azure() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "79",
        "x-ratelimit-reset-requests": "10",
        "x-rate-limit-reset-tokens": "55",
    }
    assert parse_limit_headers(headers, now=NOW) == (
        LimitReading("requests", None, None, 79.0, None, 10.0),
        LimitReading("tokens", None, None, None, None, 55.0),
    )


def test_azures_minus_one_is_nothing() -> None:
    headers = {"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"}
    assert parse_limit_headers(headers, now=NOW) == ()


def test_anthropic() -> None:
    headers = {
        "anthropic-ratelimit-input-tokens-limit": "100000",
        "anthropic-ratelimit-input-tokens-remaining": "25000",
        "anthropic-ratelimit-input-tokens-reset": "2026-01-01T00:00:40Z",
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "50",
        "anthropic-ratelimit-requests-reset": "2025-12-31T23:59:00Z",
    }
    assert parse_limit_headers(headers, now=NOW) == (
        LimitReading("input-tokens", None, 100000.0, 25000.0, 0.75, 40.0),
        LimitReading("requests", None, 50.0, 50.0, 0.0, 0.0),
    )


def test_a_subscription_of_anthropic() -> None:
    headers = {
        "anthropic-ratelimit-unified-status": "allowed",
        "anthropic-ratelimit-unified-reset": "1767229200",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "allowed",
        "anthropic-ratelimit-unified-5h-utilization": "0.42",
        "anthropic-ratelimit-unified-5h-reset": "1767229200",
        "anthropic-ratelimit-unified-7d-status": "allowed_warning",
        "anthropic-ratelimit-unified-7d-utilization": "0.9",
        "anthropic-ratelimit-unified-7d-reset": "2026-01-02T00:00:00Z",
        "anthropic-ratelimit-unified-7d_opus-utilization": "0.1",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "out_of_credits",
        "anthropic-ratelimit-unified-fallback-percentage": "0.5",
    }
    assert parse_limit_headers(headers, now=NOW) == (
        LimitReading("unified", None, None, None, None, 3600.0),
        LimitReading("unified-5h", 18000.0, None, None, 0.42, 3600.0),
        LimitReading("unified-7d", 604800.0, None, None, 0.9, 86400.0),
        LimitReading("unified-7d_opus", 604800.0, None, None, 0.1, None),
    )
    assert not any(reading.is_exhausted for reading in parse_limit_headers(headers, now=NOW))


@pytest.mark.parametrize("utilization", [{}, {"anthropic-ratelimit-unified-5h-utilization": "0.98"}])
def test_a_window_that_refuses_is_exhausted_whatever_share_it_says(utilization: dict[str, str]) -> None:
    (reading,) = parse_limit_headers({"anthropic-ratelimit-unified-5h-status": "rejected"} | utilization, now=NOW)
    assert (reading.is_exhausted, reading.used_share) == (True, 1.0)


def test_codex() -> None:
    headers = {
        "x-codex-plan-type": "plus",
        "x-codex-primary-used-percent": "12.5",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-after-seconds": "90",
        "x-codex-secondary-used-percent": "100",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-at": "1767312000",
        "x-codex-primary-over-secondary-limit-percent": "7",
        "x-codex-bengalfox-primary-used-percent": "3",
    }
    assert parse_limit_headers(headers, now=NOW) == (
        LimitReading("codex-primary", 18000.0, None, None, 0.125, 90.0),
        LimitReading("codex-secondary", 604800.0, None, None, 1.0, 86400.0),
        LimitReading("codex-bengalfox-primary", None, None, None, 0.03, None),
    )


def test_cerebras_and_mistral_tell_the_window() -> None:
    headers = {
        "x-ratelimit-limit-requests-day": "14400",
        "x-ratelimit-remaining-requests-day": "7200",
        "x-ratelimit-reset-requests-day": "33011.38",
        "x-ratelimit-limit-req-minute": "60",
        "x-ratelimit-remaining-req-minute": "0",
        "x-ratelimit-limit-tokens-month": "1000000",
    }
    assert parse_limit_headers(headers, now=NOW) == (
        LimitReading("requests", 86400.0, 14400.0, 7200.0, 0.5, 33011.38),
        LimitReading("requests", 60.0, 60.0, 0.0, 1.0, None),
        LimitReading("tokens", 2592000.0, 1000000.0, None, None, None),
    )


def test_together_and_the_draft_of_a_standard() -> None:
    headers = {
        "x-ratelimit-limit": "10",
        "x-ratelimit-remaining": "1",
        "x-tokenlimit-limit": "100",
        "x-tokenlimit-remaining": "50",
    }
    assert read(headers)["requests"] == LimitReading("requests", None, 10.0, 1.0, 0.9, None)
    assert read(headers)["tokens"].used_share == 0.5
    assert parse_limit_headers(
        {"ratelimit-limit": "60", "ratelimit-remaining": "0", "ratelimit-reset": "17"}, now=NOW
    ) == (LimitReading("requests", None, 60.0, 0.0, 1.0, 17.0),)


@pytest.mark.parametrize(
    "headers",
    [
        None,
        {},
        {"content-type": "application/json", "x-request-id": "limit"},
        {"x-ratelimit-model_per_key-remaining-tokens": "5", "x-ratelimit-api_key-limit-requests": "5"},
        {"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "", "x-ratelimit-reset-requests": "?"},
        {
            "x-ratelimit-limit-tokens": "nan",
            "x-ratelimit-remaining-tokens": "inf",
            "x-codex-primary-used-percent": "-1",
        },
    ],
)
def test_what_says_nothing_is_no_reading(headers: Any) -> None:
    assert parse_limit_headers(headers, now=NOW) == ()


def test_more_left_than_the_limit_is_all_of_it() -> None:
    headers = {"x-ratelimit-limit-tokens": "10", "x-ratelimit-remaining-tokens": "12"}
    assert read(headers)["tokens"].used_share == 0.0


names = st.one_of(
    st.sampled_from([*OPENAI, "x-codex-primary-window-minutes", "x-codex-primary-reset-at", "ratelimit-reset"]),
    st.tuples(
        st.sampled_from(
            ["x-ratelimit-", "anthropic-ratelimit-", "anthropic-ratelimit-unified-", "x-codex-", "llm_provider-x-"]
        ),
        st.text("abcdhx0579_-", max_size=12),
        st.sampled_from(
            ["-limit", "-remaining", "-reset", "-status", "-utilization", "-used-percent", "-reset-at", ""]
        ),
    ).map("".join),
    st.text(max_size=30),
)
values = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["1e999", "-0", "0", "9" * 400, "rejected", "1h" * 99, "2026-01-01T99:00:00Z", "\x00", "Ⅷ"]),
    st.integers().map(str),
    st.floats().map(str),
    st.none() | st.integers() | st.floats() | st.binary() | st.lists(st.text(), max_size=2),
)


@given(st.dictionaries(names, values, max_size=12), st.floats(allow_nan=False, allow_infinity=False))
def test_garbage_never_raises_and_what_is_read_is_sane(headers: dict[str, Any], now: float) -> None:
    for reading in parse_limit_headers(headers, now=now):
        for number in (reading.limit, reading.remaining, reading.used_share, reading.resets_in, reading.window_seconds):
            assert number is None or (number >= 0 and math.isfinite(number))
        assert reading.dimension
