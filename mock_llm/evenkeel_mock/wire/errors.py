"""Errors in the shapes that the official clients read, OpenAI's and Anthropic's, as a body and as a stream's event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from evenkeel_mock.errors import BadRequest

INVALID = "invalid_request_error"
SUNK = "The server had an error while it processed your request."
OVERLOADED = "Overloaded"
_ANTHROPIC = {
    400: INVALID,
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: INVALID,
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_FIRST_SERVER_ERROR = 500


def openai(status: int, message: str, param: str | None = None, code: str | None = None) -> bytes:
    """Return the body of an error of OpenAI's API; its type follows from the status."""
    kind = "server_error" if status >= _FIRST_SERVER_ERROR else INVALID
    return orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def anthropic(status: int, message: str) -> bytes:
    """Return the body of an error of Anthropic's API; its type follows from the status."""
    kind = _ANTHROPIC.get(status) or ("api_error" if status >= _FIRST_SERVER_ERROR else INVALID)
    return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})


def bad_request(error: BadRequest, *, of_anthropic: bool) -> bytes:
    """Return the body that a refused request is answered with; the status is the error's own."""
    if of_anthropic:
        return anthropic(error.status, error.message)
    return openai(error.status, error.message, error.param, error.code)


def openai_event(_number: int) -> bytes:
    """Return what a stream of chat or legacy completions ends with when the provider fails in the middle."""
    return b"data: " + openai(500, SUNK) + b"\n\n"


def responses_event(number: int) -> bytes:
    """Return the same of a stream of responses; the number is that of the event."""
    event = {"type": "error", "code": "server_error", "message": SUNK, "param": None, "sequence_number": number}
    return b"event: error\ndata: " + orjson.dumps(event) + b"\n\n"


def anthropic_event(_number: int) -> bytes:
    """Return the same of a stream of Anthropic's messages."""
    return b"event: error\ndata: " + anthropic(529, OVERLOADED) + b"\n\n"
