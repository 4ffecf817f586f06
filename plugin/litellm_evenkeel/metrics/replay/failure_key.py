"""What tells one failure from another, as far as any series does: failures that are alike are counted alike.

A failure has no numbers, so what LiteLLM's own code has done for one is done for the next that is like it. Failures
are told of before a client gets its answer, which is why this is worth it.

A key holds everything that LiteLLM reads of a failure, in any supported version. What is absent is not what is null:
LiteLLM's own code often counts the one and fails at the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import MORE, WHERE, WHO, Raw, UnsupportedEvent

if TYPE_CHECKING:
    from collections.abc import Hashable

    from litellm_evenkeel.metrics.replay.event_facts import LiteLLMReaders

ABSENT = "evenkeel: absent"
NOBODY: Raw = {}
NEEDED = (
    "user_api_key_user_id",
    "user_api_key_hash",
    "user_api_key_alias",
    "user_api_key_team_id",
    "user_api_key_team_alias",
)
OF_EXCEPTION = ("status_code", "code", "llm_provider", "prometheus_exception_class_name", "category", "rate_limit_type")
OF_KEY = (
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


def of_event(event: Raw, readers: LiteLLMReaders) -> Hashable:
    """Return what matters of the event of a failed request."""
    payload, params = _inside(event, "standard_logging_object"), _inside(event, "litellm_params")
    metadata, asked, beside = (
        _inside(payload, "metadata"),
        _inside(params, "metadata"),
        _inside(params, "litellm_metadata"),
    )
    zero_cost = payload.get("zero_cost_diagnostic")
    return (
        "event",
        _exception(event.get("exception")),
        event.get("model", ABSENT),
        # Without these, it is none that LiteLLM counts.
        *[metadata[name] for name in NEEDED],
        *[_named(metadata, name, readers) for name in (*WHO, *MORE)],
        *[_named(asked, name, readers) for name in (*WHO, *MORE)],
        _key(asked.get("user_api_key_auth")),
        *[payload.get(name, ABSENT) for name in WHERE],
        readers.bounded("end_user", readers.end_user(params)),
        params.get("custom_llm_provider"),
        # The deployment's name has its provider, where nothing else says it.
        *[(one.get("model_group"), one.get("deployment"), _model_info(one)) for one in (asked, beside)],
        None if zero_cost is None else zero_cost["reason"],
        None if readers.custom is None else readers.custom(payload),
        None if readers.tags is None else readers.tags(payload.get("request_tags")),
        # Its name is LiteLLM's own, and may change: whichever of them are set.
        tuple([name for name, value in params.items() if value is True]),
    )


def of_hook(request: Raw, exception: Exception, key: Any, readers: LiteLLMReaders) -> Hashable:
    """Return what matters of a failure as the client will see it."""
    metadata, params = _inside(request, "metadata"), _inside(request, "litellm_params")
    payload = _inside(request, "standard_logging_object")
    return (
        "hook",
        _exception(exception),
        # LiteLLM before 1.104 counts no failure whose message says that a key was wrong.
        readers.is_skipped({"exception": exception}),
        _key(key),
        readers.bounded("end_user", getattr(key, "end_user_id", None)),
        request.get("model", ABSENT),
        params.get("model"),
        # Whose failure it is, from whichever of them says it; a pass-through request's own word counts since 1.109.
        params.get("custom_llm_provider"),
        payload.get("custom_llm_provider"),
        request.get("custom_llm_provider"),
        request.get("call_type"),
        _inside(params, "metadata").get("model_group"),
        payload.get("model_id"),
        _model_info(metadata),
        _model_info(request),
        _named(metadata, "requester_ip_address", readers),
        _named(metadata, "user_agent", readers),
        str(request.get("stream")) if readers.tells_stream else None,
        _kinds_of_tags(request, metadata),
    )


def _inside(values: Raw, name: str) -> Raw:
    """Return the mapping under a name, empty where there is none; raise Unusual for what is something else."""
    found = values.get(name)
    if not found:
        return NOBODY
    if type(found) is not dict:
        raise UnsupportedEvent
    return found


def _model_info(values: Raw) -> Hashable:
    """Return what `model_info` says of the deployment, whether there is any, and whether it is null."""
    info = values.get("model_info", ABSENT)
    if info is ABSENT or info is None:
        return info
    if type(info) is not dict:
        raise UnsupportedEvent
    return bool(info), info.get("id")


def _kinds_of_tags(request: Raw, metadata: Raw) -> Hashable:
    """Return what decides whether LiteLLM can read the tags of a request; where tags are labels, no key is made."""
    beside, sent = _inside(request, "litellm_metadata"), request.get("proxy_server_request", NOBODY)
    headers = sent.get("headers") if type(sent) is dict else None
    agent = headers.get("user-agent") if type(headers) is dict else None
    return type(metadata.get("tags")), type(beside.get("tags")), type(sent), type(agent)


def _exception(exception: Any) -> Hashable:
    if exception is None:
        return None
    return (type(exception), *[getattr(exception, name, None) for name in OF_EXCEPTION])


def _key(key: Any) -> Hashable:
    if type(key) is dict:
        return tuple([key.get(name) for name in OF_KEY])
    return None if key is None else tuple([getattr(key, name, None) for name in OF_KEY])


def _named(values: Raw, name: str, readers: LiteLLMReaders) -> Any:
    return readers.bounded(BOUNDED.get(name, name), values.get(name))


BOUNDED = {"requester_ip_address": "client_ip", "user_agent": "user_agent"}
