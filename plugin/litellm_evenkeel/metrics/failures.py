"""What tells one failure from another, as far as any series does: failures that are alike are counted alike.

A failure has no numbers, so what LiteLLM's own code has done for one is done for the next that is like it. Failures
are told of before a client gets its answer, which is why this is worth it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.facts import MORE, WHERE, WHO, Raw

if TYPE_CHECKING:
    from collections.abc import Hashable

    from litellm_evenkeel.metrics.facts import Readers

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


def of_event(event: Raw, readers: Readers) -> Hashable:
    """Return what matters of the event of a failed request."""
    payload = event.get("standard_logging_object") or NOBODY
    metadata, params = payload.get("metadata") or NOBODY, event.get("litellm_params") or NOBODY
    asked, beside = params.get("metadata") or NOBODY, params.get("litellm_metadata") or NOBODY
    zero_cost = payload.get("zero_cost_diagnostic")
    return (
        "event",
        _exception(event.get("exception")),
        event.get("model"),
        # Without these, it is none that LiteLLM counts.
        *[metadata[name] for name in NEEDED],
        *[_named(metadata, name, readers) for name in (*WHO, *MORE)],
        *[_named(asked, name, readers) for name in (*WHO, *MORE)],
        _key(asked.get("user_api_key_auth")),
        *[payload.get(name) for name in WHERE],
        readers.bounded("end_user", readers.end_user(params)),
        params.get("custom_llm_provider"),
        *[(one.get("model_group"), (one.get("model_info") or NOBODY).get("id")) for one in (asked, beside)],
        zero_cost and zero_cost["reason"],
        None if readers.custom is None else readers.custom(payload),
        None if readers.tags is None else readers.tags(payload.get("request_tags")),
        # Its name is LiteLLM's own, and may change: whichever of them are set.
        tuple([name for name, value in params.items() if value is True]),
    )


def of_hook(request: Raw, exception: Exception, key: Any, readers: Readers) -> Hashable:
    """Return what matters of a failure as the client will see it."""
    metadata, params = request.get("metadata") or NOBODY, request.get("litellm_params") or NOBODY
    payload = request.get("standard_logging_object") or NOBODY
    return (
        "hook",
        _exception(exception),
        _key(key),
        readers.bounded("end_user", getattr(key, "end_user_id", None)),
        request.get("model"),
        params.get("model"),
        params.get("custom_llm_provider"),
        payload.get("custom_llm_provider"),
        payload.get("model_id"),
        (metadata.get("model_info") or NOBODY).get("id"),
        (request.get("model_info") or NOBODY).get("id"),
        _named(metadata, "requester_ip_address", readers),
        _named(metadata, "user_agent", readers),
        request.get("stream") if readers.tells_stream else None,
    )


def _exception(exception: Any) -> Hashable:
    if exception is None:
        return None
    return (type(exception), *[getattr(exception, name, None) for name in OF_EXCEPTION])


def _key(key: Any) -> Hashable:
    return None if key is None else tuple([getattr(key, name, None) for name in OF_KEY])


def _named(values: Raw, name: str, readers: Readers) -> Any:
    return readers.bounded(BOUNDED.get(name, name), values.get(name))


BOUNDED = {"requester_ip_address": "client_ip", "user_agent": "user_agent"}
