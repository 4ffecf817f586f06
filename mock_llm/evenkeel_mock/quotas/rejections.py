"""HTTP responses of rejected requests in a provider's format: status, headers, body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from evenkeel_mock.parsing.durations import ceil_milliseconds, ceil_seconds, span
from evenkeel_mock.quotas.headers import Dialect, Header, of_limits
from evenkeel_mock.quotas.limits import DAILY, NANO, UNLIMITED, AccountLimits
from evenkeel_mock.quotas.reasons import Reason, Rejection
from evenkeel_mock.quotas.windows import UNUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

JSON: Header = ("content-type", "application/json")
# Status, OpenAI's type and code, and Anthropic's type of an error, by reason.
SHAPES: dict[Reason, tuple[int, str, str, str]] = {
    Reason.INVALID_KEY: (401, "invalid_request_error", "invalid_api_key", "authentication_error"),
    Reason.EXPIRED: (401, "invalid_request_error", "token_expired", "authentication_error"),
    Reason.REVOKED: (401, "invalid_request_error", "account_deactivated", "authentication_error"),
    Reason.MODEL: (404, "invalid_request_error", "model_not_found", "not_found_error"),
    Reason.BALANCE: (402, "insufficient_quota", "insufficient_balance", "billing_error"),
    Reason.TOO_LARGE: (429, "tokens", "rate_limit_exceeded", "rate_limit_error"),
    Reason.QUOTA: (429, "usage_limit_reached", "usage_limit_reached", "rate_limit_error"),
    Reason.REQUESTS: (429, "requests", "rate_limit_exceeded", "rate_limit_error"),
    Reason.TOKENS: (429, "tokens", "rate_limit_exceeded", "rate_limit_error"),
    Reason.CONCURRENCY: (429, "requests", "rate_limit_exceeded", "rate_limit_error"),
    Reason.OVERLOADED: (529, "server_error", "overloaded", "overloaded_error"),
}
# OpenAI's type and code, and Anthropic's type, of a status that a fault requests.
STATUSES: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "invalid_request_error"),
    401: ("invalid_request_error", "invalid_api_key", "authentication_error"),
    402: ("insufficient_quota", "insufficient_balance", "billing_error"),
    403: ("invalid_request_error", "permission_denied", "permission_error"),
    404: ("invalid_request_error", "not_found", "not_found_error"),
    413: ("invalid_request_error", "request_too_large", "request_too_large"),
    429: ("requests", "rate_limit_exceeded", "rate_limit_error"),
    504: ("server_error", "timeout", "timeout_error"),
    529: ("server_error", "overloaded", "overloaded_error"),
}
MESSAGES = {
    Reason.INVALID_KEY: "This API key is not valid: {key}.",
    Reason.EXPIRED: "This API key has expired: {key}.",
    Reason.REVOKED: "The account of this API key has been deactivated.",
    Reason.MODEL: "The model `{model}` does not exist, or this account has no access to it.",
    Reason.BALANCE: "The balance does not suffice: {dollars:.6f} dollars are left, for {rejection.requested} tokens.",
    Reason.TOO_LARGE: "Request too large for {rejection.window} ({counts}). Waiting does not help: send fewer tokens.",
    Reason.QUOTA: "The usage limit of this account is reached: {rejection.window} ({counts}).{again}",
    Reason.REQUESTS: "Rate limit reached for {model} on requests per minute ({counts}).{again}",
    Reason.TOKENS: "Rate limit reached for {model} on tokens per minute ({counts}).{again}",
    Reason.CONCURRENCY: "Rate limit reached for {model} on concurrent requests ({counts}).{again}",
    Reason.OVERLOADED: "The provider is overloaded.{again}",
    Reason.FAULT: "Answered with {rejection.status} on request.{again}",
}
SERVER_ERROR = ("server_error", "server_error", "api_error")
CLIENT_ERROR = ("invalid_request_error", None, "invalid_request_error")
FIRST_SERVER_ERROR = 500
QUOTA_OF_A_DAY = "insufficient_quota"
SHOWN_OF_KEY = 4


class Response(NamedTuple):
    """An HTTP response."""

    status: int
    headers: list[Header]
    body: bytes


def status_rejection(status: int, wait_ns: int | None = None) -> Rejection:
    """Return the rejection of a fault that requests a status."""
    return Rejection(Reason.FAULT, status=status, wait_ns=wait_ns)


def response(
    rejection: Rejection,
    dialect: Dialect,
    now_ns: int,
    *,
    limits: AccountLimits = UNLIMITED,
    state: Sequence[int] = UNUSED,
    model: str = "",
    key: str = "",
) -> Response:
    """Return the response of a provider. `state` is the account's state at the rejection."""
    status, kind, code, anthropic_kind = _shape(rejection)
    headers = [JSON, *_waiting(rejection), *of_limits(state, limits, now_ns, dialect)]
    error: dict[str, Any] = {"message": _message(rejection, model, key)}
    body: dict[str, Any]
    if dialect is Dialect.OPENAI:
        error |= {"type": kind, "param": "model" if rejection.reason is Reason.MODEL else None, "code": code}
        body = {"error": error}
    else:
        body = {"type": "error", "error": {"type": anthropic_kind} | error}
        error = body["error"]
    if rejection.reason is Reason.QUOTA and rejection.wait_ns is not None:
        error["resets_at"] = ceil_seconds(now_ns + rejection.wait_ns)
        error["resets_in_seconds"] = ceil_seconds(rejection.wait_ns)
    return Response(status, headers, orjson.dumps(body))


def _shape(rejection: Rejection) -> tuple[int, str, str | None, str]:
    if rejection.reason is Reason.FAULT:
        status = rejection.status
        return status, *STATUSES.get(status, SERVER_ERROR if status >= FIRST_SERVER_ERROR else CLIENT_ERROR)
    status, kind, code, anthropic_kind = SHAPES[rejection.reason]
    if rejection.reason is Reason.QUOTA and rejection.window == DAILY:
        kind = code = QUOTA_OF_A_DAY
    if rejection.status not in {0, status}:
        # A revoked key may be forbidden rather than unknown.
        status, anthropic_kind = rejection.status, STATUSES[rejection.status][-1]
    return status, kind, code, anthropic_kind


def _waiting(rejection: Rejection) -> list[Header]:
    if rejection.wait_ns is None:
        return []
    return [
        ("retry-after", str(ceil_seconds(rejection.wait_ns))),
        ("retry-after-ms", str(ceil_milliseconds(rejection.wait_ns))),
    ]


def _message(rejection: Rejection, model: str, key: str) -> str:
    return MESSAGES[rejection.reason].format(
        again=f" Please try again in {span(rejection.wait_ns)}." if rejection.wait_ns is not None else "",
        counts=f"limit {rejection.limit}, used {rejection.used}, requested {rejection.requested}",
        dollars=max(0, rejection.limit - rejection.used) / NANO,
        key=_masked(key),
        model=model or "this account",
        rejection=rejection,
    )


def _masked(key: str) -> str:
    return f"{'*' * 8}{key[-SHOWN_OF_KEY:]}" if len(key) > 2 * SHOWN_OF_KEY else "*" * 8
