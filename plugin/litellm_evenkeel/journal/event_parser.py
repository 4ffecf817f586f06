"""What LiteLLM tells of a request that has ended, as a row.

What a client has sent may stand beside what LiteLLM knows, under the same names. So of a request that was answered only
what LiteLLM has written itself is read; and of one that failed, what it has at hand of the key, the moment when a
deployment was asked first, which is a moment and so in no client's JSON, and its account of that attempt.
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
# As a column has room for.
MAX_RETRIES = 2**31 - 1
METADATA_KEYS = ("litellm_metadata", "metadata")
# Whose row it is, and which, its journal says.
UNNUMBERED = (0, 0)


class Attempt(NamedTuple):
    """What an event told of an attempt that failed, until it is known whether that was the end of its request."""

    deployment: str
    account: str
    decision: RoutingDecision | None
    retries: int


class Failure(NamedTuple):
    """With what a request ended that failed."""

    error: str
    """What kind of error it was."""
    status: int
    """With which the proxy answers for it."""


class Caller(NamedTuple):
    """With which key a request came."""

    key: object
    """As LiteLLM has it: a hash, or what was sent."""
    is_known: bool
    """Whether LiteLLM has found out whose it is."""


def parse_success(details: Mapping[str, Any]) -> RequestRecord | None:
    """Read a success event; None for what is none of a request."""
    told = details.get("standard_logging_object")
    if not isinstance(told, Mapping):
        return None
    ended = safe_float(told.get("endTime"))
    began = _arrived_at(_mapping(details.get("litellm_params")), safe_float(told.get("startTime")), ended)
    is_cached, is_stream = bool(told.get("cache_hit")), bool(told.get("stream"))
    attempt = parse_attempt(details)
    first = safe_float(told.get("completionStartTime"))
    return RequestRecord(
        *UNNUMBERED,
        time=int(began * MICROSECONDS),
        key=hash_key(_mapping(told.get("metadata")).get("user_api_key_hash")),
        account="" if is_cached else safe_text(attempt.account),
        model=safe_text(_fallback_origin(details) or told.get("model_group") or told.get("model")),
        deployment="" if is_cached else safe_text(attempt.deployment),
        status=OK,
        error="",
        latency=max(ended - began, 0.0),
        first_token=max(first - began, 0.0) if is_stream and first else None,
        prompt_tokens=safe_int(told.get("prompt_tokens")),
        output_tokens=safe_int(told.get("completion_tokens")),
        cost=safe_float(told.get("response_cost")),
        retries=attempt.retries,
        reason="" if is_cached or attempt.decision is None else safe_text(attempt.decision.reason),
        is_stream=is_stream,
        is_cached=is_cached,
    )


def parse_failure(
    request: Mapping[str, Any], failure: Failure, caller: Caller, attempt: Attempt | None, now: float
) -> RequestRecord:
    """Read what a client has failed to get."""
    began = request.get("start_time")
    began = began.timestamp() if isinstance(began, datetime) else now
    # It is LiteLLM that says when the request came where its object of who sent it is beside that.
    if any(hasattr(_mapping(request.get(name)).get("user_api_key_auth"), "api_key") for name in METADATA_KEYS):
        began = _arrived_at(request, began, now)
    chosen = None if attempt is None else attempt.decision
    # LiteLLM's is an object, which nothing that a client sends can be.
    usage = request.get("combined_usage_object")
    usage = usage if hasattr(usage, "prompt_tokens") else None
    return RequestRecord(
        *UNNUMBERED,
        time=int(began * MICROSECONDS),
        # Whoever is not known may have sent anything in place of a key, another's hash for one.
        key=hash_key(caller.key, is_known=attempt is not None or caller.is_known),
        account="" if attempt is None else safe_text(attempt.account),
        model=safe_text(request.get("model")),
        deployment="" if attempt is None else safe_text(attempt.deployment),
        status=failure.status,
        error=safe_text(failure.error),
        latency=max(now - began, 0.0),
        first_token=None,
        prompt_tokens=safe_int(getattr(usage, "prompt_tokens", 0)),
        output_tokens=safe_int(getattr(usage, "completion_tokens", 0)),
        cost=0.0 if usage is None else safe_float(request.get("response_cost")),
        retries=0 if attempt is None else attempt.retries,
        reason="" if chosen is None else safe_text(chosen.reason),
        is_stream=request.get("stream") is True,
        is_cached=False,
    )


def parse_attempt(details: Mapping[str, Any]) -> Attempt:
    """Return what an event tells of the attempt that it is about."""
    told = _mapping(details.get("standard_logging_object"))
    params = _mapping(details.get("litellm_params"))
    chosen, info = routing_decision_of(details), _mapping(params.get("model_info"))
    deployment = str(told.get("model_id") or info.get("id") or "")
    if chosen is not None:
        return Attempt(deployment, chosen.account, chosen, chosen.attempt - 1)
    retries = next(
        (safe_int(_mapping(params.get(name)).get("request_retry_count")) for name in METADATA_KEYS if params.get(name)),
        0,
    )
    return Attempt(deployment, str(info.get("account") or deployment), None, min(retries, MAX_RETRIES))


def hash_key(key: object, *, is_known: bool = True) -> str:
    """Return the hash of a key as LiteLLM has it; some kinds of authentication leave the very key in its place.

    Of one that nobody knows, it is a hash of what was sent, whatever that looks like.
    """
    if not isinstance(key, str) or not key:
        return ""
    return (
        key
        if is_known and KEY_HASH.fullmatch(key)
        else hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:HASH_DIGITS]
    )


def status(error: object, default: int = FAILED) -> int:
    """Return the status that an error bears, or the response that it is about, or another."""
    for bearer in (error, getattr(error, "response", None)):
        for name in ("status_code", "code"):
            told = getattr(bearer, name, None)
            if isinstance(told, int | str) and STATUS_CODE.fullmatch(str(told)):
                return int(told)
    return default


def _fallback_origin(details: Mapping[str, Any]) -> object:
    """Return what was asked for of what was served by a fallback, which LiteLLM takes for what was asked for then."""
    params = _mapping(details.get("litellm_params"))
    return next(
        (asked for name in METADATA_KEYS if (asked := _mapping(params.get(name)).get("original_model_group"))), None
    )


def _arrived_at(told: Mapping[str, Any], began: float, ended: float) -> float:
    """Return when a request came to the proxy; outside of one, when it was made."""
    sent = _mapping(told.get("proxy_server_request"))
    came = safe_float(sent.get("arrival_time"))
    return came if ended - MAX_REQUEST_SECONDS < came <= began else began


def _mapping(told: object) -> Mapping[str, Any]:
    return told if isinstance(told, Mapping) else {}
