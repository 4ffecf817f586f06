"""Failures that LiteLLM distinguishes, in any supported version, have different keys."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from litellm_evenkeel.metrics.replay.event_facts import LiteLLMReaders, Raw, UnsupportedEvent
from litellm_evenkeel.metrics.replay.failure_key import event_key, hook_key

READERS = LiteLLMReaders(
    end_user=lambda params: params.get("user_api_key_end_user_id"),
    tier=lambda _: None,
    skips=lambda event: "wrong key" in str(event["exception"]),
    guardrail_seconds=lambda _: 0.0,
)
KEY = SimpleNamespace(api_key="hash", end_user_id=None)
WHO = ("user_id", "hash", "alias", "team_id", "team_alias")
REQUESTS: list[Raw] = [
    {},
    {"custom_llm_provider": "gemini"},
    {"custom_llm_provider": "gemini", "call_type": "pass_through_endpoint"},
    {"litellm_params": {"metadata": {"model_group": "a"}}},
    {"litellm_params": {"metadata": {"model_group": "b"}}},
    {"litellm_params": {"custom_llm_provider": "openai"}},
    {"model": None},
    {"model_info": None},
    {"model_info": {}},
    {"model_info": {"id": "a"}},
    {"metadata": {"model_info": None}},
    {"metadata": {"model_info": {"id": "a"}}},
    {"metadata": {"tags": "no list"}},
    {"litellm_metadata": {"tags": "no list"}},
    {"proxy_server_request": None},
    {"proxy_server_request": {"headers": {"user-agent": 5}}},
    {"standard_logging_object": {"model_id": "a"}},
]


def of_request(request: Raw, exception: Exception | None = None) -> Any:
    return hook_key(request, exception or ValueError("no"), KEY, READERS)


def test_all_that_litellm_reads_of_a_refused_request_tells_it_from_others() -> None:
    keys = [of_request(one) for one in REQUESTS]
    assert len(set(keys)) == len(REQUESTS)
    assert keys == [of_request(dict(one)) for one in REQUESTS]


def test_a_message_that_has_older_versions_count_nothing_tells_it_from_others() -> None:
    assert of_request({}, ValueError("wrong key")) != of_request({}, ValueError("something else"))
    assert of_request({}, ValueError("one thing")) == of_request({}, ValueError("something else"))


def failed(params: Raw | None = None, **payload: Any) -> Raw:
    metadata = {f"user_api_key_{name}": name for name in WHO}
    return {"standard_logging_object": {"metadata": metadata, **payload}, "litellm_params": params or {}}


EVENTS: list[Raw] = [
    failed(),
    {**failed(), "model": None},
    failed(model_id=None),
    failed(model_id="a"),
    failed(custom_llm_provider="openai"),
    failed({"metadata": {"model_info": None}}),
    failed({"metadata": {"model_info": {}}}),
    failed({"metadata": {"model_info": {"id": "a"}}}),
    failed({"litellm_metadata": {"model_info": {"id": "a"}}}),
    failed({"metadata": {"model_info": {}, "deployment": "azure/gpt"}}),
    failed({"metadata": {"model_info": {}, "deployment": "openai/gpt"}}),
    failed({"metadata": {"user_api_key_auth": {"user_email": "a@example.com"}}}),
    failed({"metadata": {"user_api_key_auth": {"user_email": "b@example.com"}}}),
    failed({"metadata": {"user_api_key_auth": SimpleNamespace(api_key_hash="a")}}),
    failed({"proxy_rejected_before_routing": True}),
]


def test_all_that_litellm_reads_of_a_failed_event_tells_it_from_others() -> None:
    keys = [event_key(one, READERS) for one in EVENTS]
    assert len(set(keys)) == len(EVENTS)
    assert keys == [event_key(dict(one), READERS) for one in EVENTS]


@pytest.mark.parametrize("wrong", [{"metadata": "text"}, {"model_info": ["list"]}, {"litellm_params": 5}])
def test_what_is_of_another_form_has_no_key(wrong: Raw) -> None:
    with pytest.raises(UnsupportedEvent):
        of_request(wrong)
