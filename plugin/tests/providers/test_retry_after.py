"""The time until a limit resets, and the precedence of several sources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.providers.limit_headers import parse_limit_headers
from litellm_evenkeel.providers.retry_after import until_reset

NOW = 1767225600.0
FULL_LATER = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "50s"}
WORDS = "try again in at reset resets until 5 3 : pm UTC 2026-01-01 s minutes | T , and ~"
CLOSED = {"anthropic-ratelimit-unified-5h-status": "rejected", "anthropic-ratelimit-unified-5h-reset": "1767229200"}


def reset(headers: Any = None, body: Any = None, text: str | None = None) -> float | None:
    return until_reset(headers, parse_limit_headers(headers, now=NOW), body, text, now=NOW)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"Retry-After": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after-ms": "1250"}, 1.25),
        ({"llm_provider-retry-after": "20"}, 20.0),
        ({"retry-after": 20}, 20.0),
        ({b"Retry-After": b"20"}, 20.0),
        ({"x-ratelimit-reset-requests": "6ms"}, 0.006),
        ({"x-ratelimit-reset-tokens": "1m2.5s"}, 62.5),
        ({"x-ratelimit-reset-requests": "10"}, 10.0),
        ({"x-ratelimit-reset": "1767225610"}, 10.0),
        ({"x-ratelimit-reset": "1767225610000"}, 10.0),
        ({"anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:40Z"}, 40.0),
        (CLOSED, 3600.0),
        ({"x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": "90"}, 90.0),
        ({"x-codex-secondary-used-percent": "101", "x-codex-secondary-reset-at": "1767225690"}, 90.0),
    ],
)
def test_headers_say_when(headers: dict[Any, Any], seconds: float) -> None:
    assert reset(headers) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "headers",
    [
        None,
        {},
        {"retry-after": "soon"},
        {"retry-after": "-5"},
        {"retry-after": "nan"},
        {"x-ratelimit-reset-requests": "-1"},
        {"x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "10s"},
        {"x-codex-primary-used-percent": "99", "x-codex-primary-reset-after-seconds": "90"},
        {"anthropic-ratelimit-unified-5h-status": "allowed", "anthropic-ratelimit-unified-5h-reset": "1767229200"},
        {
            "anthropic-ratelimit-unified-overage-status": "rejected",
            "anthropic-ratelimit-unified-overage-reset": "1767229200",
        },
    ],
)
def test_what_says_nothing_is_none(headers: dict[str, str] | None) -> None:
    assert reset(headers) is None


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"resets_in_seconds": 3600}}, 3600.0),
        ({"error": {"resets_at": 1767229200}}, 3600.0),
        ({"detail": {"resets_at": "2026-01-01T01:00:00Z"}}, 3600.0),
        ({"retry_after": 1.5}, 1.5),
        ({"error": {"retry_after_ms": 1500}}, 1.5),
        ({"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}, 34.0),
        ({"error": {"details": [{"metadata": {"quotaResetDelay": "1h2m3.5s"}}]}}, 3723.5),
        ({"error": {"details": [{"metadata": {"quotaResetTimeStamp": "2026-01-01T00:05:00Z"}}]}}, 300.0),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1767225660000"}}}}, 60.0),
        ([{"error": {"retry_after": 7}}], 7.0),
    ],
)
def test_bodies_say_when(body: object, seconds: float) -> None:
    assert reset(body=body) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        7,
        {"error": {"resets_in_seconds": None, "resets_at": "later", "retry_after": -3}},
        {"detail": [{"input": {"retry_after": 4000, "resets_at": 1767229200}}]},
        {"messages": [{"content": {"retry_after": 4000}}]},
    ],
)
def test_bodies_that_say_nothing_or_quote_somebody(body: object) -> None:
    assert reset(body=body) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 1h2m3s. Visit the limits page.", 3723.0),
        ("Please try again in 6ms.", 0.006),
        ("Please retry in 34.07s.", 34.07),
        ("Please retry after 59 seconds.", 59.0),
        ("Please wait 30 seconds before retrying.", 30.0),
        ("Please wait for 2 minutes", 120.0),
        ("Your limit resets in ~30s", 30.0),
        ("Back in 20 minutes", 1200.0),
        ("Try again in 3 days 5 hours 22 minutes.", 278520.0),
        ("expected available balance in: 35 seconds", 35.0),
        ("resets at 2026-01-01T00:10:00Z", 600.0),
        ("Resets on 2026-01-01 00:10 UTC", 600.0),
        ("Try again at 2026-01-01T02:10:00+02:00", 600.0),
        ("You will regain access on 2026-01-02 at 00:00 UTC.", 86400.0),
        ("You will regain access on 2026-01-02.", 86400.0),
        ("try again at 3:05 PM UTC", 54300.0),
        ("resets 12am (UTC)", 0.0),
        ("resets 12pm (UTC)", 43200.0),
        ("Claude AI usage limit reached|1767229200", 3600.0),
        ("Limit of 10 requests in 1 minute. Please try again in 5s", 5.0),
        ("try again in 5s, or try again in 2 minutes with less", 120.0),
    ],
)
def test_sentences_say_when(text: str, seconds: float) -> None:
    assert reset(text=text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "Please try again later.",
        "try again at 3:00 PM",
        "resets 7pm (America/Los_Angeles)",
        "try again on 2026-99-99T00:00:00Z",
        "Limit 30000, Used 29500, Requested 1200",
        "retry with 5 messages",
    ],
)
def test_sentences_that_cannot_be_read_honestly_say_nothing(text: str | None) -> None:
    assert reset(text=text) is None


def test_of_several_statements_about_the_refusal_the_longest_counts() -> None:
    assert reset({"retry-after": "5"}, {"error": {"resets_in_seconds": 60}}, "try again in 20s") == 60.0
    assert reset({"retry-after": "90"}, {"error": {"resets_in_seconds": 60}}, "try again in 20s") == 90.0
    assert reset({"retry-after": "5"}, {"error": {"resets_in_seconds": 60}}, "try again in 2 hours") == 7200.0


def test_whole_seconds_give_way_to_the_milliseconds_that_they_round_up() -> None:
    assert reset({"retry-after": "1", "retry-after-ms": "350"}) == 0.35
    assert reset({"retry-after": "30", "retry-after-ms": "350"}) == 30.0
    assert reset({"retry-after": "1", "retry-after-ms": "35000"}) == 35.0


def test_a_limit_that_fills_up_again_counts_only_where_nothing_is_said_about_the_refusal() -> None:
    assert reset(FULL_LATER) == 50.0
    assert reset(FULL_LATER | {"retry-after": "4"}) == 4.0
    assert reset(FULL_LATER, text="Please try again in 7.66s") == 7.66


def test_a_closed_window_of_a_subscription_is_not_opened_by_a_shorter_wait() -> None:
    assert reset(CLOSED | {"retry-after": "60"}) == 3600.0
    assert reset(CLOSED | {"retry-after": "7200"}) == 7200.0


def test_a_window_that_is_used_up_does_not_matter_where_more_is_bought() -> None:
    allowed = {"anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-reset": "1767229200"}
    assert reset(CLOSED | allowed | {"retry-after": "60"}) == 60.0
    assert reset(CLOSED | allowed | {"anthropic-ratelimit-unified-status": "rejected", "retry-after": "60"}) == 3600.0


def test_the_limit_that_the_refusal_names_counts() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "8m",
        "x-ratelimit-remaining-tokens": "40",
        "x-ratelimit-reset-tokens": "50s",
    }
    assert reset(headers) == 480.0
    assert reset(headers, {"error": {"type": "tokens"}}) == 50.0
    assert reset(headers, text="Rate limit reached on tokens per min") == 50.0
    assert reset(headers, {"error": {"type": "requests"}}) == 480.0
    assert reset(headers, {"error": {"type": "images"}}) == 480.0


def test_of_exhausted_limits_the_longest_counts() -> None:
    headers = {
        f"anthropic-ratelimit-{what}-{field}": value
        for what, left, end in (
            ("requests", "7", "2026-01-01T09:00:00Z"),
            ("input-tokens", "0", "2026-01-01T00:00:20Z"),
            ("output-tokens", "0", "2026-01-01T00:00:50Z"),
        )
        for field, value in (("remaining", left), ("reset", end))
    }
    assert reset(headers) == 50.0


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 1e5))
def test_never_shorter_than_anything_that_is_said_about_the_refusal(header: float, field: float, text: float) -> None:
    found = reset({"retry-after": f"{header:.3f}"}, {"resets_in_seconds": field}, f"try again in {text:.3f}s")
    assert found is not None
    assert found >= max(float(f"{header:.3f}"), field, float(f"{text:.3f}")) - 1e-9


@given(st.text(max_size=200) | st.lists(st.sampled_from(WORDS.split(" ")), max_size=20).map(" ".join))
def test_no_sentence_makes_it_raise(text: str) -> None:
    found = reset(text=text)
    assert found is None or found >= 0
