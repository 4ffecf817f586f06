"""One request over HTTP, timed at its first byte, its first token, every chunk and its end.

Runs in Locust's process only: gevent's sockets.

Error classes: `http_429` and so on; `timeout`; `refused`, `unresolved`, `tls`, `reset`, `network`; `protocol` for an
answer that is not HTTP; `cut_short` for one that ends too early, or a stream without its end mark; `malformed` for one
that says nothing of what was asked; `error_event` for a stream, `error_body` for an answer, that tells of an error
under the status of a success; `too_large` for one without an end; `unexpected` for what only the log tells.
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
# For what follows a stream's end mark, which is the connection's end of it.
DRAIN_SECONDS = 0.1
# How much is read before others have their turn, and how much at most.
PIECE = 2**17
MOST_SIZE = 2**26
# What a proxy passes on of its provider's headers.
PROVIDERS = "llm_provider-"
RECEIVED, SENT = "x-mock-received-ns", "x-mock-sent-ns"
RETRIES, MODEL_ID = "x-litellm-attempted-retries", "x-litellm-model-id"


class TooLarge(Exception):
    """An answer is larger than any that was asked for."""


# The first that fits.
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
# What a record can hold.
MOST = 2**63

log = logging.getLogger("evenkeel")


class Target:
    """What is loaded, over connections that are used again."""

    def __init__(self, address: str, *, connections: int, timeout: float) -> None:
        url = URL(address)
        self._place = (url.host, url.port)
        self._prefix = url.path.rstrip("/")
        self._timeout = timeout
        # Waiting for one of our own connections is no service of the target's.
        self._free = BoundedSemaphore(connections)
        self._client = HTTPClient.from_url(
            url,
            concurrency=connections,
            connection_timeout=timeout,
            network_timeout=timeout,
            headers={"content-type": "application/json", "user-agent": "evenkeel-load"},
        )

    def warm_up(self) -> None:
        """Connect once: the first time takes 12 ms, in which no request could be sent."""
        with contextlib.suppress(OSError):
            gevent.socket.create_connection(self._place, timeout=WARM_UP_SECONDS).close()

    def send(self, path: str, body: bytes, headers: dict[str, str], *, stream: bool) -> Outcome:
        """Send a request and take in its answer, all of it within the timeout."""
        with self._free:
            found = Outcome(sent_ns=now_ns())
            try:
                with gevent.Timeout(self._timeout, TimeoutError()):
                    self._exchange(path, body, headers, found, stream=stream)
            except (OSError, HTTPParseError, TooLarge) as error:
                found.error = error_class(error, answered=bool(found.status))
            except Exception:
                # A load goes on, whatever one answer does to the client.
                log.exception("a request failed in a way that nobody has foreseen")
                found.error = "unexpected"
            found.end_ns = found.end_ns or now_ns()
        return found

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _exchange(self, path: str, body: bytes, headers: dict[str, str], found: Outcome, *, stream: bool) -> None:
        response = self._client.request("POST", self._prefix + path, body, headers)
        found.first_byte_ns = now_ns()
        _read_headers(response, found)
        _bound(response, found.sent_ns + int(self._timeout * NS))
        if found.status not in SUCCESS:
            found.error = f"http_{found.status}"
            found.size = len(response.read())
        elif stream:
            _read_events(response, found)
        else:
            _read_whole(response, found)


def _bound(response: HTTPSocketPoolResponse, deadline_ns: int) -> None:
    """Let others have their turn while an answer comes without a pause, and end one that has no end.

    No timer ever rings while there is always something to read.
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

    response.feed = bounded  # type: ignore[method-assign]  # the one place that all data comes through


def error_class(error: Exception, *, answered: bool = False) -> str:
    """Return what kind of failure that is; of one that happened after the answer had begun, or before."""
    if answered and isinstance(error, HTTPParseError):
        return "cut_short"
    return next((name for kind, name in CLASSES.items() if isinstance(error, kind)), "network")


def _read_headers(response: HTTPSocketPoolResponse, found: Outcome) -> None:
    found.status = response.status_code
    found.model_id = _text(response, MODEL_ID)
    found.retries = _number(response, RETRIES)
    found.mock_received_ns = _number(response, RECEIVED)
    found.mock_sent_ns = _number(response, SENT)


def _text(response: HTTPSocketPoolResponse, name: str) -> str | None:
    value = response.get(name) or response.get(PROVIDERS + name)
    return value[-1] if isinstance(value, list) else value


def _number(response: HTTPSocketPoolResponse, name: str) -> int | None:
    text = _text(response, name)
    found = int(text) if text and text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) else MOST
    return found if found < MOST else None


def _read_whole(response: HTTPSocketPoolResponse, found: Outcome) -> None:
    body = response.read()
    found.size = len(body)
    told = document(body)
    if told is None:
        found.error = "malformed"
    elif told.get("error"):
        found.error = "error_body"


def _read_events(response: HTTPSocketPoolResponse, found: Outcome) -> None:
    ended = False
    for event in events(response):
        found.size += event.size
        if event.data == END_MARK:
            ended = True
            found.end_ns = event.ns
            _drain(response)
            break
        chunk = document(event.data)
        if event.kind == b"error" or (chunk and chunk.get("error")):
            found.error = "error_event"
            continue
        found.chunk_ns.append(event.ns)
        if chunk and says_something(chunk):
            found.first_token_ns = found.first_token_ns or event.ns
            found.last_token_ns = event.ns
    if not ended and not found.error:
        found.error = "cut_short" if found.chunk_ns or _is_stream(response) else "malformed"


def _drain(response: HTTPSocketPoolResponse) -> None:
    """Take in what follows, so that the connection can be used again; whatever comes, the answer is complete."""
    with contextlib.suppress(OSError, HTTPParseError, TooLarge), gevent.Timeout(DRAIN_SECONDS, TimeoutError()):
        response.read()
    response.release()


def _is_stream(response: HTTPSocketPoolResponse) -> bool:
    return (_text(response, "content-type") or "").startswith("text/event-stream")
