"""Keys that group failures with the same metric updates.

A failure has no numbers, so the updates that LiteLLM's own code makes for one failure are repeated for the next one
with the same key. LiteLLM reports a failure before the client gets its response, so this shortens the response time.

A key holds everything that LiteLLM reads of a failure, in any supported version. An absent value is not the same as
null: LiteLLM's own code often counts the former and raises for the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import (
    DEPLOYMENT_FIELDS,
    EMPTY,
    OPTIONAL_METADATA,
    REQUIRED_METADATA,
    Raw,
    UnsupportedEvent,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from litellm_evenkeel.metrics.replay.event_facts import LiteLLMReaders

ABSENT = "evenkeel: absent"
REQUIRED_FAILURE_METADATA = tuple(name for name in REQUIRED_METADATA if name != "user_api_key_user_email")
EXCEPTION_FIELDS = (
    "status_code",
    "code",
    "llm_provider",
    "prometheus_exception_class_name",
    "category",
    "rate_limit_type",
)
KEY_FIELDS = (
    "api_key",
    "api_key_hash",
    "key_alias",
    "is_session_token",
    "team_id",
    "team_alias",
    "user_id",
    "user_email",
    "org_id",
    "organization_alias",
    "request_route",
)


def event_key(event: Raw, readers: LiteLLMReaders) -> Hashable:
    """Return the key of a failure event; raise an error if its form is unexpected."""
    payload, params = _mapping(event, "standard_logging_object"), _mapping(event, "litellm_params")
    metadata = _mapping(payload, "metadata")
    request_metadata, litellm_metadata = _mapping(params, "metadata"), _mapping(params, "litellm_metadata")
    zero_cost = payload.get("zero_cost_diagnostic")
    return (
        "event",
        _exception(event.get("exception")),
        event.get("model", ABSENT),
        # LiteLLM does not count a failure that lacks one of these.
        *[metadata[name] for name in REQUIRED_FAILURE_METADATA],
        *[_bounded_field(metadata, name, readers) for name in (*REQUIRED_METADATA, *OPTIONAL_METADATA)],
        *[_bounded_field(request_metadata, name, readers) for name in (*REQUIRED_METADATA, *OPTIONAL_METADATA)],
        _client_key(request_metadata.get("user_api_key_auth")),
        *[payload.get(name, ABSENT) for name in DEPLOYMENT_FIELDS],
        readers.bound_value("end_user", readers.end_user(params)),
        params.get("custom_llm_provider"),
        # The deployment's name contains its provider, in case no other field states it.
        *[
            (mapping.get("model_group"), mapping.get("deployment"), _model_info(mapping))
            for mapping in (request_metadata, litellm_metadata)
        ],
        None if zero_cost is None else zero_cost["reason"],
        None if readers.custom_labels is None else readers.custom_labels(payload),
        None if readers.tag_labels is None else readers.tag_labels(payload.get("request_tags")),
        # LiteLLM reads a flag here whose name may change between versions, so every flag that is set counts.
        tuple([name for name, value in params.items() if value is True]),
    )


def hook_key(request: Raw, exception: Exception, key: Any, readers: LiteLLMReaders) -> Hashable:
    """Return the key of a failure as LiteLLM's failure hook reports it; raise an error if its form is unexpected."""
    metadata, params = _mapping(request, "metadata"), _mapping(request, "litellm_params")
    payload = _mapping(request, "standard_logging_object")
    return (
        "hook",
        _exception(exception),
        # LiteLLM before 1.104 does not count failures whose message says that a key was invalid.
        readers.skips({"exception": exception}),
        _client_key(key),
        readers.bound_value("end_user", getattr(key, "end_user_id", None)),
        request.get("model", ABSENT),
        params.get("model"),
        # The provider, from whichever field has it; the request's own field counts for pass-through since 1.109.
        params.get("custom_llm_provider"),
        payload.get("custom_llm_provider"),
        request.get("custom_llm_provider"),
        request.get("call_type"),
        _mapping(params, "metadata").get("model_group"),
        payload.get("model_id"),
        _model_info(metadata),
        _model_info(request),
        _bounded_field(metadata, "requester_ip_address", readers),
        _bounded_field(metadata, "user_agent", readers),
        str(request.get("stream")) if readers.has_stream_label else None,
        _tag_types(request, metadata),
    )


def _mapping(values: Raw, name: str) -> Raw:
    """Return the dictionary under `name`, empty if there is none; raise `UnsupportedEvent` for any other type."""
    value = values.get(name)
    if not value:
        return EMPTY
    if type(value) is not dict:
        raise UnsupportedEvent
    return value


def _model_info(values: Raw) -> Hashable:
    """Return whether `model_info` has any content, and its deployment id; or `None` or `ABSENT` in its place."""
    info = values.get("model_info", ABSENT)
    if info is ABSENT or info is None:
        return info
    if type(info) is not dict:
        raise UnsupportedEvent
    return bool(info), info.get("id")


def _tag_types(request: Raw, metadata: Raw) -> Hashable:
    """Return the types that decide whether LiteLLM can read a request's tags.

    The values of tags do not matter: if tags are configured as labels, no key is made.
    """
    litellm_metadata, sent = _mapping(request, "litellm_metadata"), request.get("proxy_server_request", EMPTY)
    headers = sent.get("headers") if type(sent) is dict else None
    agent = headers.get("user-agent") if type(headers) is dict else None
    return type(metadata.get("tags")), type(litellm_metadata.get("tags")), type(sent), type(agent)


def _exception(exception: Any) -> Hashable:
    if exception is None:
        return None
    return (type(exception), *[getattr(exception, name, None) for name in EXCEPTION_FIELDS])


def _client_key(key: Any) -> Hashable:
    if type(key) is dict:
        return tuple([key.get(name) for name in KEY_FIELDS])
    return None if key is None else tuple([getattr(key, name, None) for name in KEY_FIELDS])


def _bounded_field(values: Raw, name: str, readers: LiteLLMReaders) -> Any:
    return readers.bound_value(BOUNDED_LABELS.get(name, name), values.get(name))


BOUNDED_LABELS = {"requester_ip_address": "client_ip", "user_agent": "user_agent"}
