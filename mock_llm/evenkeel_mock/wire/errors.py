"""Errors in the shapes that the official clients read, OpenAI's and Anthropic's, as a body and as a stream's event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from evenkeel_mock.errors import BadRequest

INVALID = "invalid_request_error"
_OPENAI = {429: "rate_limit_error"}
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


def openai(
    status: int, message: str, param: str | None = None, code: str | None = None, *, kind: str | None = None
) -> bytes:
    """Return the body of an error of OpenAI's API; its kind follows from the status unless it is given."""
    said = kind or _OPENAI.get(status) or ("server_error" if status >= _FIRST_SERVER_ERROR else INVALID)
    return orjson.dumps({"error": {"message": message, "type": said, "param": param, "code": code}})


def anthropic(status: int, message: str, identity: str | None = None, *, kind: str | None = None) -> bytes:
    """Return the body of an error of Anthropic's API; its kind follows from the status unless it is given."""
    said = kind or _ANTHROPIC.get(status) or ("api_error" if status >= _FIRST_SERVER_ERROR else INVALID)
    body: dict[str, Any] = {"type": "error", "error": {"type": said, "message": message}}
    if identity is not None:
        body["request_id"] = f"req_{identity}"
    return orjson.dumps(body)


def bad_request(error: BadRequest, *, of_anthropic: bool, identity: str | None = None) -> bytes:
    """Return the body that a refused request is answered with; the status is the error's own."""
    if of_anthropic:
        return anthropic(error.status, error.message, identity)
    return openai(error.status, error.message, error.param, error.code)


def openai_event(body: bytes) -> bytes:
    """Return an error as the last event of a stream of chat or legacy completions."""
    return b"data: " + body + b"\n\n"


def responses_event(message: str, code: str | None, number: int) -> bytes:
    """Return an error as the last event of a stream of responses; the number is that of the event."""
    event = {"type": "error", "code": code, "message": message, "param": None, "sequence_number": number}
    return b"event: error\ndata: " + orjson.dumps(event) + b"\n\n"


def anthropic_event(body: bytes) -> bytes:
    """Return an error as the last event of a stream of Anthropic's messages."""
    return b"event: error\ndata: " + body + b"\n\n"
