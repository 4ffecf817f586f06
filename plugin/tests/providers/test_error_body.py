"""Error bodies in all kinds of wrappers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from litellm_evenkeel.providers.error_body import normalize_code, parse_error_body, parse_json_prefix

ERROR = {"error": {"message": "Sorry", "type": "tokens", "code": "rate_limit_exceeded"}}
TEXT = json.dumps(ERROR)


@pytest.mark.parametrize(
    "body",
    [
        ERROR,
        ERROR["error"],
        [ERROR],
        TEXT,
        TEXT.encode(),
        str(ERROR),
        f"Error code: 429 - {ERROR}",
        f"litellm.RateLimitError: {TEXT}",
        f"litellm.RateLimitError: RateLimitError: OpenAIException - {TEXT}",
        f"litellm.RateLimitError: AnthropicException - {TEXT}. Handle with `litellm.RateLimitError`.",
        f"litellm.RateLimitError: VertexAIException - {TEXT.encode()!r}",
        f"litellm.BadRequestError: GeminiException BadRequestError - {TEXT}",
        f"litellm.RateLimitError: BedrockException: Rate Limit Error - {TEXT}",
        f"litellm.MidStreamFallbackError: litellm.RateLimitError: AzureException RateLimitError - {TEXT}",
        f"429 RESOURCE_EXHAUSTED. {ERROR}",
        f"data: {TEXT}\n\n",
        f"event: error\ndata: {TEXT}",
        {"error": {"message": TEXT, "code": 429}},
        {"error": {"message": f"litellm.RateLimitError: OpenAIException - {ERROR}", "code": "429"}},
    ],
)
def test_every_wrapping_comes_off(body: object) -> None:
    read = parse_error_body(body)
    assert read.message == "Sorry"
    assert {"tokens", "rate_limit_exceeded"} <= read.codes


def test_the_classes_and_statuses_of_the_wrapping_are_kept() -> None:
    body = parse_error_body("litellm.MidStreamFallbackError: litellm.RateLimitError: Error code: 429 - Sorry")
    assert (body.names, body.status, body.message) == (("MidStreamFallbackError", "RateLimitError"), 429, "Sorry")


def test_the_error_itself_knows_its_status_best_and_the_innermost_better() -> None:
    body = {"error": {"code": 429, "details": [{"code": 403}], "innererror": {"code": 500}}, "status": 400}
    assert parse_error_body(body).status == 429
    assert parse_error_body({"error": {"code": 500, "message": json.dumps(body)}}).status == 429


@pytest.mark.parametrize("body", [None, "", b"", 7, [], {}, [[]], {"error": None}, {"error": {"message": 5}}, object()])
def test_nothing_says_nothing(body: object) -> None:
    read = parse_error_body(body)
    assert (read.codes, read.status, read.message) == (frozenset(), None, "")


@pytest.mark.parametrize(
    "message",
    [
        "Invalid prompt: " + TEXT,
        "You wrote litellm.AuthenticationError: " + TEXT,
        "got 'Error code: 401 - " + TEXT + "'",
    ],
)
def test_nothing_is_looked_for_behind_other_words(message: str) -> None:
    for body in (message, {"error": {"message": message}}, str({"error": {"message": message}})):
        read = parse_error_body(body)
        assert (read.codes, read.status, read.names) == (frozenset(), None, ())


def test_codes_are_spelled_alike() -> None:
    assert normalize_code("com.amazon.coral.service#ThrottlingException") == "throttlingexception"
    assert normalize_code("ThrottlingException:http://internal.amazon.com/") == "throttlingexception"


@given(st.integers(0, len(TEXT)))
def test_what_is_cut_off_is_read_as_far_as_it_goes(end: int) -> None:
    found = parse_json_prefix(TEXT[:end])
    for name, value in (found or {}).get("error", {}).items():
        assert ERROR["error"][name].startswith(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'error': {'message': \"It's late", {"error": {"message": "It's late"}}),
        ("{'error': {'code': 429, 'param': Non", {"error": {"code": 429}}),
        ("{'error': {'code': 'a', 'param': None}} It's 'late'", {"error": {"code": "a", "param": None}}),
        ('{"error": {"code": "a", "stale": tr', {"error": {"code": "a"}}),
        ('{"error": {"message": "two\nlines"}}', {"error": {"message": "two\nlines"}}),
    ],
)
def test_python_and_json_are_read_to_where_they_end(text: str, expected: object) -> None:
    assert parse_json_prefix(text) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_json_is_read_as_json(value: dict[str, Any]) -> None:
    assert parse_json_prefix(json.dumps(value)) == value
    assert parse_json_prefix(json.dumps(value) + " and more") == value


plain_text = st.text(st.characters(categories=["L", "N", "Zs", "P"]), max_size=10).filter(
    lambda text: text == repr(text)[1:-1]
)


@given(st.dictionaries(plain_text, st.none() | st.booleans() | st.integers(0, 10**9) | plain_text, max_size=4))
def test_what_python_prints_is_read(value: dict[str, Any]) -> None:
    assert parse_json_prefix(repr(value)) == value


@example('{"error": {"message": "\ud800')
@given(st.text(max_size=100) | st.text("{}[]:,'\"\\ab1 ", max_size=100).map("{".__add__))
def test_no_text_makes_it_raise(text: str) -> None:
    parse_json_prefix(text)
    parse_error_body(text)


def test_a_sentence_in_braces_is_no_object() -> None:
    quoted = """{invalid (?:'|value) 501{"error": {"code": "invalid", "type": "501"}}"""
    read = parse_error_body({"error": {"message": quoted, "type": "invalid_request_error"}})
    assert (read.codes, read.status) == ({"invalid_request_error"}, None)
