"""Classification of failed responses: real ones first, then arbitrary ones."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from litellm_evenkeel.providers import rules
from litellm_evenkeel.providers.classifier import Failure, clamp_retry_after, classify
from litellm_evenkeel.providers.failure import FailureKind, FailureScope

NOW = 1767225600.0
RESPONSES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "fixtures" / "responses.toml").read_text(encoding="utf-8")
)["response"]
TABLES = (rules.CODES, rules.LITELLM_CLASSES, rules.GENERIC_CODES, rules.STATUSES, rules.CLASSES)
ALL_RULES = (
    *(rule for table in TABLES for rule in table.rules),
    *rules.MESSAGES,
    rules.SUBSCRIPTION_EXHAUSTED,
    rules.SUBSCRIPTION_EXHAUSTED_FOR_MODEL,
    rules.UNKNOWN,
)
NAMES = {rule.name for rule in ALL_RULES}
SECRET = "sk-invented0secret1that2nobody3has"

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4),
    max_leaves=10,
)
known = st.sampled_from(sorted({str(key) for rule in ALL_RULES for key in rule.matches}))
FIELDS = """
    error code type status message detail details errors retryDelay resets_at metadata violations quotaId
    resets_in_seconds retry_after response innererror @type reason
"""
fields = st.sampled_from(FIELDS.split())
likely = st.recursive(
    known | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=5),
    max_leaves=12,
)
headers = st.dictionaries(
    st.sampled_from(["retry-after", "Retry-After-Ms", "x-amzn-errortype", "x-ratelimit-reset-tokens"])
    | st.sampled_from(["anthropic-ratelimit-unified-5h-status", "x-codex-primary-used-percent"])
    | st.text(max_size=20),
    st.sampled_from(["rejected", "100", "1e400", "-1", "nan", "99999999999999999999"]) | anything,
    max_size=5,
)


def classified(response: dict[str, Any], **changes: Any) -> Failure:
    found = response | changes
    return classify(found.get("status"), found.get("body"), found.get("headers"), found.get("exception"), now=NOW)


def is_json(response: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(response.get("body", "")))
    except ValueError:
        return False


def by_name(response: dict[str, Any]) -> str:
    return str(response["name"])


@pytest.mark.parametrize("response", RESPONSES, ids=by_name)
def test_a_response_means_what_it_should(response: dict[str, Any]) -> None:
    failure = classified(response)
    expected = response["expect"]
    assert (failure.kind, failure.scope) == (expected["kind"], expected["scope"]), failure.reason
    assert failure.retry_after == pytest.approx(expected.get("seconds"), abs=1e-6), failure.reason


def test_there_are_enough_and_each_says_where_it_is_from() -> None:
    assert len(RESPONSES) >= 70
    assert len({by_name(response) for response in RESPONSES}) == len(RESPONSES)
    assert all(response["from"] for response in RESPONSES)
    known_fields = {"name", "from", "status", "exception", "headers", "body", "expect"}
    assert all(set(response) <= known_fields for response in RESPONSES)
    assert all({"kind", "scope"} <= set(one["expect"]) <= {"kind", "scope", "seconds"} for one in RESPONSES)


def body(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("You have insufficient permissions for this operation. Missing scopes: model.request.", None),
        ("Missing scopes: api.responses.write", None),
        ("Insufficient permissions", None),
        ("Request had insufficient authentication scopes.", None),
        ("This API key is not allowed to use this endpoint", None),
        ("Your API key does not have permission to use the specified resource.", None),
        ("You are not authorized to perform this action.", None),
        ("User: arn:aws:iam::1:user/a is not authorized to perform: bedrock:InvokeModel on resource: b", None),
        ("You do not have permission to access this resource", None),
        ("Permission 'aiplatform.endpoints.predict' denied on resource '//b'", None),
        ("Look at the manual", "missing_scope"),
    ],
)
@pytest.mark.parametrize("status", [401, 403])
def test_what_may_be_forbidden_to_one_request_only_is_not_certain(status: int, message: str, code: str | None) -> None:
    failure = classify(status, body(message, code), None, None, now=NOW)
    assert (failure.kind, failure.is_certain) == (FailureKind.PERMANENT, False), failure.reason


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Incorrect API key provided: sk-invented.", None),
        ("Whatever it says", "invalid_api_key"),
        ("Your authentication token has been invalidated.", None),
        ("You must be a member of an organization to use the API.", None),
        ("", None),
    ],
)
def test_a_bad_key_is_certain(message: str, code: str | None) -> None:
    failure = classify(401, body(message, code), None, None, now=NOW)
    assert (failure.kind, failure.is_certain) == (FailureKind.PERMANENT, True), failure.reason


def test_every_row_of_every_table_is_met() -> None:
    assert {classified(response).reason for response in RESPONSES} == NAMES


def test_names_of_rows_are_not_shared() -> None:
    assert len(NAMES) == len(ALL_RULES)


def test_nothing_stands_in_two_rows_of_a_table() -> None:
    for prefix in ("says", "type", "status", "class"):
        keys = [key for rule in ALL_RULES if rule.name.startswith(prefix) for key in rule.matches]
        assert len(keys) == len(set(keys))


@pytest.mark.parametrize("response", [one for one in RESPONSES if is_json(one)], ids=by_name)
def test_a_parsed_body_means_the_same(response: dict[str, Any]) -> None:
    assert classified(response, body=json.loads(response["body"])) == classified(response)
    assert classified(response, body=response["body"].encode()) == classified(response)


@pytest.mark.parametrize("response", RESPONSES, ids=by_name)
def test_neither_the_case_of_headers_nor_litellms_prefix_matters(response: dict[str, Any]) -> None:
    found = response.get("headers", {})
    failure = classified(response)
    assert classified(response, headers={name.upper(): value for name, value in found.items()}) == failure
    prefixed = {"llm_provider-" + name.removeprefix("llm_provider-"): value for name, value in found.items()}
    assert classified(response, headers=prefixed) == failure


@pytest.mark.parametrize("response", [one for one in RESPONSES if is_json(one) and "exception" in one], ids=by_name)
def test_wrapped_by_litellm_it_means_the_same(response: dict[str, Any]) -> None:
    wrapped = f"litellm.{response['exception']}: SomeException - {response['body']}\nReceived Model Group=a"
    assert classified(response, body=wrapped) == classified(response)


@pytest.mark.parametrize(
    "response",
    [one for one in RESPONSES if one["expect"]["kind"] == "client" and one.get("status") in {400, 422}],
    ids=by_name,
)
def test_cut_off_anywhere_it_holds_no_account_for_a_clients_fault(response: dict[str, Any]) -> None:
    body = response.get("body", "")
    for end in range(0, len(body), 7):
        failure = classified(response, body=body[:end])
        assert failure.kind is FailureKind.CLIENT, body[:end]


@pytest.mark.parametrize("status", [400, 413, 422])
@given(st.lists(known, min_size=1, max_size=6), st.sampled_from(["Invalid value: ", "got ", "'", '"', "{"]))
def test_what_a_message_quotes_holds_no_account(status: int, quoted: list[str], before: str) -> None:
    message = before + " ".join(quoted) + json.dumps({"error": {"code": quoted[0], "type": quoted[-1]}})
    for body in (
        {"error": {"message": message, "type": "invalid_request_error", "code": None}},
        str({"error": {"message": message, "type": "invalid_request_error", "code": None}}),
        {"detail": [{"msg": "Input should be valid", "input": {"error": {"code": quoted[0], "type": quoted[-1]}}}]},
    ):
        failure = classify(status, body, {}, "BadRequestError", now=NOW)
        assert (failure.kind, failure.scope, failure.retry_after) == (FailureKind.CLIENT, FailureScope.NOTHING, None)


@given(anything, likely | likely.map(str) | likely.map(repr), headers | anything, known | anything)
@example(429, {"type": [], "code": "<quota/day/model>"}, {}, None)
@example(429, '{"error":' * 200, {}, None)
@example(429, "[" * 100_000, {}, None)
@example(429, '{"a":"' + "\\" * 70_000, {}, None)
@example(500, "Error: " * 20_000, {}, "X")
@example(500, {"error": {"code": 10**400, "retry_after": 10**400}}, {"retry-after": 10**400}, ["RateLimitError"] * 99)
@example(1, '{"error":{"code":' + "9" * 5000 + "}}", None, "")
def test_nothing_makes_it_raise_and_it_says_only_what_is_in_the_tables(
    status: Any, body: Any, found: Any, exception: Any
) -> None:
    failure = classify(status, body, found, exception, now=NOW)
    assert failure.reason in NAMES
    assert failure.retry_after is None or failure.retry_after >= 0
    assert (failure.scope is FailureScope.NOTHING) == (failure.kind is FailureKind.CLIENT)
    if failure.kind in {FailureKind.PERMANENT, FailureKind.CLIENT}:
        assert failure.retry_after is None


@pytest.mark.parametrize("response", RESPONSES, ids=by_name)
def test_no_secret_is_in_what_is_said(response: dict[str, Any]) -> None:
    body = response.get("body", "")
    failure = classified(response, body=body.replace('message":"', f'message":"{SECRET} ') + SECRET)
    assert SECRET not in repr(failure)
    assert failure.reason in NAMES


@given(st.sampled_from([r for r in RESPONSES if "seconds" in r["expect"]]), st.floats(0, 1e6))
def test_saying_more_never_makes_it_shorter_than_was_said(response: dict[str, Any], seconds: float) -> None:
    found = {name: value for name, value in response.get("headers", {}).items() if "retry" not in name.lower()}
    failure = classified(response, headers=found | {"retry-after": f"{seconds:.3f}"})
    assert failure.retry_after is not None
    assert failure.retry_after >= float(f"{seconds:.3f}") - 1e-9


@pytest.mark.parametrize(
    ("seconds", "kind", "expected"),
    [
        (60.0, FailureKind.RATE_LIMIT, 60.0),
        (86400.0, FailureKind.RATE_LIMIT, 1800.0),
        (86400.0, FailureKind.OVERLOADED, 1800.0),
        (86400.0, FailureKind.TRANSIENT, 1800.0),
        (86400.0, FailureKind.QUOTA, 86400.0),
        (31 * 86400.0, FailureKind.QUOTA, 8 * 86400.0),
        (0.0, FailureKind.RATE_LIMIT, 0.0),
        (-1.0, FailureKind.RATE_LIMIT, None),
        (float("nan"), FailureKind.QUOTA, None),
        (float("inf"), FailureKind.QUOTA, None),
        (1e12, FailureKind.QUOTA, None),
        (None, FailureKind.QUOTA, None),
        (60.0, FailureKind.PERMANENT, None),
        (60.0, FailureKind.CLIENT, None),
    ],
)
def test_what_is_asked_for_is_clamped(seconds: float | None, kind: FailureKind, expected: float | None) -> None:
    assert clamp_retry_after(seconds, kind) == expected


def test_how_far_is_the_operators_to_say() -> None:
    assert clamp_retry_after(500.0, FailureKind.RATE_LIMIT, rate_limit=100.0) == 100.0
    assert clamp_retry_after(500.0, FailureKind.QUOTA, rate_limit=100.0, quota=400.0) == 400.0


def test_the_gravest_of_several_codes_is_believed() -> None:
    body = {"error": {"type": "insufficient_quota", "code": "invalid_api_key", "status": "RESOURCE_EXHAUSTED"}}
    assert classify(429, body, {}, "RateLimitError", now=NOW).kind is FailureKind.PERMANENT
