"""LiteLLM's events as records. Their forms are those of a running proxy."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.journal.event_parser import (
    Attempt,
    Caller,
    Failure,
    hash_key,
    parse_attempt,
    parse_failure,
    parse_success,
    status,
)
from litellm_evenkeel.journal.record import RequestRecord
from litellm_evenkeel.routing_decision import REQUEST_KEY, RoutingDecision

HASH = hashlib.sha256(b"sk-a").hexdigest()
CAME, BEGAN, FIRST, ENDED = 1_700_000_000.0, 1_700_000_000.25, 1_700_000_001.0, 1_700_000_002.0


class Call:
    picked = RoutingDecision("acme", "pinned", 3)


def event(**told: Any) -> dict[str, Any]:
    payload = {
        "startTime": BEGAN,
        "endTime": ENDED,
        "completionStartTime": FIRST,
        "stream": False,
        "cache_hit": None,
        "model_group": "gpt-4o",
        "model": "openai/gpt-4o-2024",
        "model_id": "d-1",
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "response_cost": 0.002,
        "metadata": {"user_api_key_hash": HASH},
    }
    params = {
        "model_info": {"id": "d-1", "account": "named"},
        "proxy_server_request": {"arrival_time": CAME},
        "metadata": {"request_retry_count": 1},
    }
    return {"standard_logging_object": payload | told, "litellm_params": params}


def test_an_answer_is_a_row() -> None:
    assert parse_success(event()) == RequestRecord(
        writer=0,
        number=0,
        time=int(CAME * 1e6),
        key=HASH,
        account="named",
        model="gpt-4o",
        deployment="d-1",
        status=200,
        error="",
        latency=ENDED - CAME,
        first_token=None,
        prompt_tokens=12,
        output_tokens=3,
        cost=0.002,
        retries=1,
        reason="",
        is_stream=False,
        is_cached=False,
    )


def test_the_rotation_knows_better_which_account_it_was_and_why() -> None:
    found = parse_success(event() | {REQUEST_KEY: Call()})
    assert found is not None
    assert (found.account, found.reason, found.retries) == ("acme", "pinned", 2)


def test_a_stream_has_a_first_token() -> None:
    found = parse_success(event(stream=True))
    assert found is not None
    assert found.is_stream
    assert found.first_token == FIRST - CAME


@pytest.mark.parametrize("name", ["metadata", "litellm_metadata"])
def test_of_a_fallback_the_model_is_what_was_asked_for(name: str) -> None:
    told = event(model_group="spare")
    told["litellm_params"][name] = {"original_model_group": "gpt-4o", "model_group": "spare"}
    found = parse_success(told)
    assert found is not None
    assert found.model == "gpt-4o"


def test_of_what_litellm_had_itself_no_account_is_named() -> None:
    found = parse_success(event(cache_hit=True) | {REQUEST_KEY: Call()})
    assert found is not None
    assert found.is_cached
    assert (found.account, found.deployment, found.reason) == ("", "", "")


@pytest.mark.parametrize("came", [None, "soon", -1.0, BEGAN + 60, 5.0])
def test_where_nobody_says_when_it_came_it_came_when_it_was_made(came: object) -> None:
    told = event()
    told["litellm_params"]["proxy_server_request"] = {"arrival_time": came}
    found = parse_success(told)
    assert found is not None
    assert found.latency == ENDED - BEGAN


def test_an_event_of_nothing_is_no_row() -> None:
    assert parse_success({}) is None


REFUSED = Failure("Refused", 429)
KNOWN = Caller(HASH, is_known=True)


def request(**told: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "start_time": datetime.fromtimestamp(CAME, UTC), **told}


def test_a_failure_is_a_row() -> None:
    attempt = Attempt("d-1", "acme", RoutingDecision("acme", "strategy", 2), 1)
    found = parse_failure(request(stream=True), REFUSED, KNOWN, attempt, ENDED)
    assert (found.status, found.error, found.latency) == (429, "Refused", ENDED - CAME)
    assert (found.account, found.deployment, found.reason, found.retries) == ("acme", "d-1", "strategy", 1)
    assert found.is_stream
    assert (found.prompt_tokens, found.output_tokens, found.cost) == (0, 0, 0.0)


class Auth:
    api_key = HASH


@pytest.mark.parametrize("name", ["metadata", "litellm_metadata"])
def test_a_failure_counts_from_its_arrival_as_an_answer_does(name: str) -> None:
    sent = {"arrival_time": CAME - 1}
    told = request(proxy_server_request=sent, **{name: {"user_api_key_auth": Auth()}})
    found = parse_failure(told, REFUSED, KNOWN, None, ENDED)
    assert (found.time, found.latency) == (int((CAME - 1) * 1e6), ENDED - CAME + 1)
    for wrong in (None, "soon", CAME + 1, 5.0):
        sent["arrival_time"] = wrong  # type: ignore[assignment]
        assert parse_failure(told, REFUSED, KNOWN, None, ENDED).latency == ENDED - CAME


def test_when_it_came_is_not_for_a_client_to_say() -> None:
    forged = request(proxy_server_request={"arrival_time": CAME - 1}, metadata={"user_api_key_auth": {"api_key": HASH}})
    assert parse_failure(forged, REFUSED, KNOWN, None, ENDED).latency == ENDED - CAME


def test_a_client_cannot_write_what_litellm_knows() -> None:
    forged = request(start_time=1.0, combined_usage_object={"prompt_tokens": 10**9}, response_cost=1e9, stream="yes")
    found = parse_failure(forged, REFUSED, KNOWN, None, ENDED)
    assert found.time == int(ENDED * 1e6)
    assert (found.prompt_tokens, found.cost, found.is_stream) == (0, 0.0, False)


class Usage:
    prompt_tokens = 7
    completion_tokens = 2


def test_what_a_broken_stream_has_used_is_known() -> None:
    found = parse_failure(request(combined_usage_object=Usage(), response_cost=0.5), REFUSED, KNOWN, None, ENDED)
    assert (found.prompt_tokens, found.output_tokens, found.cost) == (7, 2, 0.5)


@pytest.mark.parametrize(
    ("told", "expected"), [(429, 429), ("404", 404), (None, 500), (True, 500), ("soon", 500), (0, 500)]
)
def test_a_status_is_what_the_error_says(told: object, expected: int) -> None:
    error = Exception()
    error.status_code = told  # type: ignore[attr-defined]
    assert status(error) == expected
    assert status(Exception(), 401) == 401


def test_a_key_is_never_written() -> None:
    assert hash_key(HASH) == HASH
    assert hash_key("sk-secret") not in {"sk-secret", ""}
    assert hash_key("sk-secret") == hash_key("sk-secret")
    assert hash_key(None) == ""


@pytest.mark.parametrize("sent", [HASH, "ab" * 32, "sk-x"])
@pytest.mark.parametrize("status", [400, 401, 403, 500, 503])
def test_who_is_not_known_writes_under_nobodys_key(sent: str, status: int) -> None:
    failure, stranger = Failure("Refused", status), Caller(sent, is_known=False)
    assert parse_failure(request(), failure, stranger, None, ENDED).key not in {"", sent}
    assert parse_failure(request(), failure, KNOWN, None, ENDED).key == HASH
    assert (
        parse_failure(request(), failure, Caller(HASH, is_known=False), Attempt("d-1", "acme", None, 0), ENDED).key
        == HASH
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
NAMES = st.sampled_from(
    ["model", "start_time", "stream", "combined_usage_object", "response_cost", "metadata", "proxy_server_request"]
)


@given(st.dictionaries(NAMES, JSON))
def test_whatever_a_client_sends_becomes_a_row(sent: dict[str, Any]) -> None:
    found = parse_failure(sent, REFUSED, Caller("sk-a", is_known=True), None, ENDED)
    assert found.time == int(ENDED * 1e6)
    assert (found.account, found.prompt_tokens, found.output_tokens, found.cost) == ("", 0, 0, 0.0)


FIELDS = st.sampled_from([*event()["standard_logging_object"]])
PARAMS = st.sampled_from([*event()["litellm_params"], "litellm_metadata"])


@given(st.dictionaries(FIELDS, JSON), st.dictionaries(PARAMS, JSON))
def test_whatever_litellm_tells_becomes_a_row(payload: dict[str, Any], params: dict[str, Any]) -> None:
    told = event(**payload)
    told["litellm_params"] |= params
    found = parse_success(told)
    assert found is not None
    assert parse_attempt(told).retries >= 0
    for one in found:
        assert one is None or isinstance(one, int | float | str)
