"""HTTP client of the load, with times of the first byte, the first token, every chunk and the end.

Runs in Locust's process only: gevent's sockets.

Error classes: `http_429` and so on; `timeout`; `refused`, `unresolved`, `tls`, `reset`, `network`; `protocol` for an
answer that is not HTTP; `cut_short` for one that ends too early, or a stream without its end mark; `malformed` for one
that is no JSON object; `error_event` for a stream, `error_body` for an answer, with an error under the status of a
success; `too_large` for one without an end; `unexpected` for others, which are in the log.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
from typing import TYPE_CHECKING

import gevent
import gevent.socket
from gevent.lock import BoundedSemaphore
from geventhttpclient import URL, HTTPClient
from geventhttpclient.response import HTTPConnectionClosed, HTTPParseError

from evenkeel_load.clock import NS, now_ns
from evenkeel_load.http.sse import END_MARK, document, events, says_something
from evenkeel_load.records.outcome import Outcome

if TYPE_CHECKING:
    from geventhttpclient.response import HTTPSocketPoolResponse

SUCCESS = range(200, 300)
WARM_UP_SECONDS = 0.5
# Time for the rest of a response after a stream's end mark.
DRAIN_SECONDS = 0.1
# Bytes that are read before other greenlets run, and the maximum of an answer.
PIECE = 2**17
MOST_SIZE = 2**26
# Prefix of a provider's headers that a proxy passes on.
PROVIDERS = "llm_provider-"
RECEIVED, SENT = "x-mock-received-ns", "x-mock-sent-ns"
RETRIES, MODEL_ID = "x-litellm-attempted-retries", "x-litellm-model-id"


class TooLarge(Exception):
    """An answer is larger than any that was requested."""


# The first match counts.
CLASSES: dict[type[Exception], str] = {
    TimeoutError: "timeout",
    ConnectionRefusedError: "refused",
    ConnectionResetError: "reset",
    BrokenPipeError: "reset",
    HTTPConnectionClosed: "reset",
    HTTPParseError: "protocol",
    socket.gaierror: "unresolved",
    ssl.SSLError: "tls",
    TooLarge: "too_large",
}
# Records have 64-bit integers.
MOST = 2**63

log = logging.getLogger("evenkeel")


class Target:
    """The target of a load, with a pool of connections."""

    def __init__(self, address: str, *, connections: int, timeout: float) -> None:
        url = URL(address)
        self._address = (url.host, url.port)
        self._prefix = url.path.rstrip("/")
        self._timeout = timeout
        # Waiting for a free connection is not part of the service time.
        self._free = BoundedSemaphore(connections)
        self._client = HTTPClient.from_url(
            url,
            concurrency=connections,
            connection_timeout=timeout,
            network_timeout=timeout,
            headers={"content-type": "application/json", "user-agent": "evenkeel-load"},
        )

    def warm_up(self) -> None:
        """Connect once, because the first connection takes 12 ms, during which no request could be sent."""
        with contextlib.suppress(OSError):
            gevent.socket.create_connection(self._address, timeout=WARM_UP_SECONDS).close()

    def send(self, path: str, body: bytes, headers: dict[str, str], *, stream: bool) -> Outcome:
        """Send a request and read its answer within the timeout."""
        with self._free:
            outcome = Outcome(sent_ns=now_ns())
            try:
                with gevent.Timeout(self._timeout, TimeoutError()):
                    self._exchange(path, body, headers, outcome, stream=stream)
            except (OSError, HTTPParseError, TooLarge) as error:
                outcome.error = error_class(error, answered=bool(outcome.status))
            except Exception:
                # An unexpected answer must not end the load.
                log.exception("a request failed unexpectedly")
                outcome.error = "unexpected"
            outcome.end_ns = outcome.end_ns or now_ns()
        return outcome

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _exchange(self, path: str, body: bytes, headers: dict[str, str], outcome: Outcome, *, stream: bool) -> None:
        response = self._client.request("POST", self._prefix + path, body, headers)
        outcome.first_byte_ns = now_ns()
        _read_headers(response, outcome)
        _bound(response, outcome.sent_ns + int(self._timeout * NS))
        if outcome.status not in SUCCESS:
            outcome.error = f"http_{outcome.status}"
            outcome.size = len(response.read())
        elif stream:
            _read_events(response, outcome)
        else:
            _read_whole(response, outcome)


def _bound(response: HTTPSocketPoolResponse, deadline_ns: int) -> None:
    """Yield to other greenlets during an answer without pauses, and end one without an end.

    No timer fires while there is always something to read.
    """
    feed, read = response.feed, 0

    def bounded(data: str | bytes) -> None:
        nonlocal read
        feed(data)
        before, read = read, read + len(data)
        if read // PIECE == before // PIECE:
            return
        gevent.sleep(0)
        if read > MOST_SIZE:
            raise TooLarge
        if now_ns() > deadline_ns:
            raise TimeoutError

    response.feed = bounded  # type: ignore[method-assign]  # all data passes through it


def error_class(error: Exception, *, answered: bool = False) -> str:
    """Return the class of an error; `answered` tells whether the answer had begun."""
    if answered and isinstance(error, HTTPParseError):
        return "cut_short"
    return next((name for kind, name in CLASSES.items() if isinstance(error, kind)), "network")


def _read_headers(response: HTTPSocketPoolResponse, outcome: Outcome) -> None:
    outcome.status = response.status_code
    outcome.model_id = _text(response, MODEL_ID)
    outcome.retries = _number(response, RETRIES)
    outcome.mock_received_ns = _number(response, RECEIVED)
    outcome.mock_sent_ns = _number(response, SENT)


def _text(response: HTTPSocketPoolResponse, name: str) -> str | None:
    value = response.get(name) or response.get(PROVIDERS + name)
    return value[-1] if isinstance(value, list) else value


def _number(response: HTTPSocketPoolResponse, name: str) -> int | None:
    text = _text(response, name)
    number = int(text) if text and text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) else MOST
    return number if number < MOST else None


def _read_whole(response: HTTPSocketPoolResponse, outcome: Outcome) -> None:
    body = response.read()
    outcome.size = len(body)
    fields = document(body)
    if fields is None:
        outcome.error = "malformed"
    elif fields.get("error"):
        outcome.error = "error_body"


def _read_events(response: HTTPSocketPoolResponse, outcome: Outcome) -> None:
    ended = False
    for event in events(response):
        outcome.size += event.size
        if event.data == END_MARK:
            ended = True
            outcome.end_ns = event.ns
            _drain(response)
            break
        chunk = document(event.data)
        if event.kind == b"error" or (chunk and chunk.get("error")):
            outcome.error = "error_event"
            continue
        outcome.chunk_ns.append(event.ns)
        if chunk and says_something(chunk):
            outcome.first_token_ns = outcome.first_token_ns or event.ns
            outcome.last_token_ns = event.ns
    if not ended and not outcome.error:
        outcome.error = "cut_short" if outcome.chunk_ns or _is_stream(response) else "malformed"


def _drain(response: HTTPSocketPoolResponse) -> None:
    """Read the rest of the response, so that the connection can be reused. The answer is complete in any case."""
    with contextlib.suppress(OSError, HTTPParseError, TooLarge), gevent.Timeout(DRAIN_SECONDS, TimeoutError()):
        response.read()
    response.release()


def _is_stream(response: HTTPSocketPoolResponse) -> bool:
    return (_text(response, "content-type") or "").startswith("text/event-stream")
