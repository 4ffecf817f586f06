"""Journal records from LiteLLM's events of finished requests.

A request's metadata may contain fields from the client beside LiteLLM's own, under the same names. So for a successful
request, only fields that LiteLLM wrote itself are read. For a failed request, these are: the authenticated key, the
time of the first attempt (a `datetime`, which a client's JSON cannot contain), and the payload of that attempt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from litellm_evenkeel.journal.record import RequestRecord, safe_float, safe_int, safe_text
from litellm_evenkeel.routing_decision import RoutingDecision, routing_decision_of

OK, FAILED = 200, 500
KEY_HASH = re.compile(r"[0-9a-f]{64}")
STATUS_CODE = re.compile(r"[1-9][0-9]{2}", re.ASCII)
HASH_DIGITS = 16
MICROSECONDS = 1_000_000
MAX_REQUEST_SECONDS = 86_400.0
# The maximum of Postgres' `integer`, the type of the column.
MAX_RETRIES = 2**31 - 1
METADATA_KEYS = ("litellm_metadata", "metadata")
# Placeholders: the journal sets writer and number.
UNNUMBERED = (0, 0)


class Attempt(NamedTuple):
    """Details of an attempt, from the event that reported it."""

    deployment: str
    account: str
    decision: RoutingDecision | None
    retries: int


class Failure(NamedTuple):
    """Error with which a request ended."""

    error: str
    """Class name of the error."""
    status: int
    """HTTP status of the proxy's response."""


class Caller(NamedTuple):
    """Key of a request."""

    key: object
    """The key as LiteLLM has it: a hash, or the text that the client sent."""
    is_known: bool
    """Whether LiteLLM has authenticated the key."""


def parse_success(details: Mapping[str, Any]) -> RequestRecord | None:
    """Return the record of a success event, or `None` if the event does not belong to a request."""
    payload = details.get("standard_logging_object")
    if not isinstance(payload, Mapping):
        return None
    ended_at = safe_float(payload.get("endTime"))
    started_at = _arrived_at(_mapping(details.get("litellm_params")), safe_float(payload.get("startTime")), ended_at)
    is_cached, is_stream = bool(payload.get("cache_hit")), bool(payload.get("stream"))
    attempt = parse_attempt(details)
    first_token_at = safe_float(payload.get("completionStartTime"))
    return RequestRecord(
        *UNNUMBERED,
        time=int(started_at * MICROSECONDS),
        key=hash_key(_mapping(payload.get("metadata")).get("user_api_key_hash")),
        account="" if is_cached else safe_text(attempt.account),
        model=safe_text(_fallback_origin(details) or payload.get("model_group") or payload.get("model")),
        deployment="" if is_cached else safe_text(attempt.deployment),
        status=OK,
        error="",
        latency=max(ended_at - started_at, 0.0),
        first_token=max(first_token_at - started_at, 0.0) if is_stream and first_token_at else None,
        prompt_tokens=safe_int(payload.get("prompt_tokens")),
        output_tokens=safe_int(payload.get("completion_tokens")),
        cost=safe_float(payload.get("response_cost")),
        retries=attempt.retries,
        reason="" if is_cached or attempt.decision is None else safe_text(attempt.decision.reason),
        is_stream=is_stream,
        is_cached=is_cached,
    )


def parse_failure(
    request: Mapping[str, Any], failure: Failure, caller: Caller, attempt: Attempt | None, now: float
) -> RequestRecord:
    """Return the record of a failed request. `now` is in seconds since 1970."""
    started_at = request.get("start_time")
    started_at = started_at.timestamp() if isinstance(started_at, datetime) else now
    # Only beside LiteLLM's own authentication object is the arrival time LiteLLM's and not the client's.
    if any(hasattr(_mapping(request.get(name)).get("user_api_key_auth"), "api_key") for name in METADATA_KEYS):
        started_at = _arrived_at(request, started_at, now)
    decision = None if attempt is None else attempt.decision
    # LiteLLM's own usage is an object, which a client's JSON cannot contain.
    usage = request.get("combined_usage_object")
    usage = usage if hasattr(usage, "prompt_tokens") else None
    return RequestRecord(
        *UNNUMBERED,
        time=int(started_at * MICROSECONDS),
        # An unauthenticated client may send anything as a key, such as the hash of another client's key.
        key=hash_key(caller.key, is_known=attempt is not None or caller.is_known),
        account="" if attempt is None else safe_text(attempt.account),
        model=safe_text(request.get("model")),
        deployment="" if attempt is None else safe_text(attempt.deployment),
        status=failure.status,
        error=safe_text(failure.error),
        latency=max(now - started_at, 0.0),
        first_token=None,
        prompt_tokens=safe_int(getattr(usage, "prompt_tokens", 0)),
        output_tokens=safe_int(getattr(usage, "completion_tokens", 0)),
        cost=0.0 if usage is None else safe_float(request.get("response_cost")),
        retries=0 if attempt is None else attempt.retries,
        reason="" if decision is None else safe_text(decision.reason),
        is_stream=request.get("stream") is True,
        is_cached=False,
    )


def parse_attempt(details: Mapping[str, Any]) -> Attempt:
    """Return the attempt that an event is about."""
    payload = _mapping(details.get("standard_logging_object"))
    params = _mapping(details.get("litellm_params"))
    decision, info = routing_decision_of(details), _mapping(params.get("model_info"))
    deployment = str(payload.get("model_id") or info.get("id") or "")
    if decision is not None:
        return Attempt(deployment, decision.account, decision, decision.attempt - 1)
    retries = next(
        (safe_int(_mapping(params.get(name)).get("request_retry_count")) for name in METADATA_KEYS if params.get(name)),
        0,
    )
    return Attempt(deployment, str(info.get("account") or deployment), None, min(retries, MAX_RETRIES))


def hash_key(key: object, *, is_known: bool = True) -> str:
    """Return LiteLLM's hash of a key. Some authentication methods leave the key itself there, which is then hashed.

    The text of an unknown key is always hashed, even if it looks like a hash.
    """
    if not isinstance(key, str) or not key:
        return ""
    if is_known and KEY_HASH.fullmatch(key):
        return key
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:HASH_DIGITS]


def status(error: object, default: int = FAILED) -> int:
    """Return the HTTP status of an error or of its response, or `default` without one."""
    for source in (error, getattr(error, "response", None)):
        for name in ("status_code", "code"):
            code = getattr(source, name, None)
            if isinstance(code, int | str) and STATUS_CODE.fullmatch(str(code)):
                return int(code)
    return default


def _fallback_origin(details: Mapping[str, Any]) -> object:
    """Return the requested model of a request that a fallback served; LiteLLM reports the fallback's model itself."""
    params = _mapping(details.get("litellm_params"))
    origins = (_mapping(params.get(name)).get("original_model_group") for name in METADATA_KEYS)
    return next(filter(None, origins), None)


def _arrived_at(details: Mapping[str, Any], started_at: float, ended_at: float) -> float:
    """Return when a request arrived at the proxy, or `started_at` if that is missing or implausible."""
    arrived_at = safe_float(_mapping(details.get("proxy_server_request")).get("arrival_time"))
    return arrived_at if ended_at - MAX_REQUEST_SECONDS < arrived_at <= started_at else started_at


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
