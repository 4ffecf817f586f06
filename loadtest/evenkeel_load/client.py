"""One request over HTTP, timed at its first byte, its first token, every chunk and its end.

Runs in Locust's process only: gevent's sockets.

Error classes: `http_429` and so on; `timeout`; `refused`, `unresolved`, `reset`, `network`; `protocol` for an answer
that is not HTTP; `error_event` for a stream that tells of an error; `cut_short` for one that ends without its end mark.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import orjson
from geventhttpclient import HTTPClient
from geventhttpclient.response import HTTPConnectionClosed, HTTPParseError

from evenkeel_load.clock import now_ns
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.outcome import Outcome

if TYPE_CHECKING:
    from geventhttpclient.response import HTTPSocketPoolResponse

OK = 200
END_MARK = b"data: [DONE]"
DATA = b"data: "
ERROR_STARTS = (b'data: {"error"', b"event: error")
# What a proxy passes on of its provider's headers.
PROVIDERS = "llm_provider-"
RECEIVED, SENT = "x-mock-received-ns", "x-mock-sent-ns"
RETRIES, MODEL_ID = "x-litellm-attempted-retries", "x-litellm-model-id"


class Target:
    """What is loaded, over connections that are used again."""

    def __init__(self, host: str, *, connections: int, timeout: float) -> None:
        try:
            self._client = HTTPClient.from_url(
                host,
                concurrency=connections,
                connection_timeout=timeout,
                network_timeout=timeout,
                headers={"content-type": "application/json", "user-agent": "evenkeel-load"},
            )
        except ValueError as error:
            raise LoadConfigError(f"{host!r} is no address.", cure="Such as http://127.0.0.1:4000.") from error

    def send(self, path: str, body: bytes, headers: dict[str, str], *, stream: bool) -> Outcome:
        """Send a request and take in its answer."""
        found = Outcome(sent_ns=now_ns())
        try:
            response = self._client.request("POST", path, body, headers)
            found.first_byte_ns = now_ns()
            found.status = response.status_code
            _read_headers(response, found)
            if stream and found.status == OK:
                _read_events(response, found)
            else:
                found.size = len(response.read())
            if found.status != OK:
                found.error = f"http_{found.status}"
        except (OSError, HTTPParseError) as error:
            found.error = error_class(error)
        found.end_ns = now_ns()
        return found

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def error_class(error: Exception) -> str:
    """Return what kind of failure that is."""
    match error:
        case TimeoutError():
            return "timeout"
        case ConnectionRefusedError():
            return "refused"
        case ConnectionResetError() | BrokenPipeError() | HTTPConnectionClosed():
            return "reset"
        case HTTPParseError():
            return "protocol"
        case socket.gaierror():
            return "unresolved"
        case _:
            return "network"


def _read_headers(response: HTTPSocketPoolResponse, found: Outcome) -> None:
    found.model_id = _text(response, MODEL_ID)
    found.retries = _number(response, RETRIES)
    found.mock_received_ns = _number(response, RECEIVED)
    found.mock_sent_ns = _number(response, SENT)


def _text(response: HTTPSocketPoolResponse, name: str) -> str | None:
    value = response.get(name) or response.get(PROVIDERS + name)
    return value[-1] if isinstance(value, list) else value


def _number(response: HTTPSocketPoolResponse, name: str) -> int | None:
    text = _text(response, name)
    return int(text) if text and text.isascii() and text.isdigit() else None


def _read_events(response: HTTPSocketPoolResponse, found: Outcome) -> None:
    ended = False
    while event := response.readline(b"\n\n"):
        now = now_ns()
        found.size += len(event)
        if event.startswith(ERROR_STARTS):
            found.error = "error_event"
        elif event.startswith(END_MARK):
            ended = True
        elif event.startswith(DATA):
            found.chunk_ns.append(now)
            if not found.first_token_ns and _says_something(event):
                found.first_token_ns = now
    if not ended and not found.error:
        found.error = "cut_short"


def _says_something(event: bytes) -> bool:
    """Return whether a chunk carries a token: the first one often names the role and nothing else."""
    try:
        choices = orjson.loads(event[len(DATA) :])["choices"]
        delta = choices[0]["delta"]
    except (orjson.JSONDecodeError, KeyError, IndexError, TypeError):
        return False
    return bool(delta.get("content") or delta.get("tool_calls") or delta.get("reasoning_content"))
