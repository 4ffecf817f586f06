"""HTTP/1.1 on one connection: a request in, an answer out, with no thread and no task in between.

The parser is llhttp, by way of httptools. Whatever serves gets an `Exchange`, and answers it now or later:

    respond(status, head, body)                   a whole answer
    start(status, head), send(piece)..., finish() one in pieces
    cut()                                         at any time: the connection is reset, as if the provider had died
    fail(error)                                   the same, after an error that is written to the log

`head` is header lines, each with its line end. Requests that come before the last one is answered wait their turn.

Granian's RSGI, which this replaces, hands each request from its own thread to Python's and back, twice if there is a
body: on two cores that was half of a request's CPU, and under a thousand streams most of their lateness.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
import struct
import time
from collections import deque
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from evenkeel_mock.parsing.durations import NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # Answers an exchange, now or later.
    Serve = Callable[["Exchange"], None]

MOST_BODY_BYTES = 64 << 20
MOST_HEAD_BYTES = 256 << 10
MOST_WAITING = 64
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
JSON = b"content-type: application/json\r\n"
PLAIN = b"content-type: text/plain\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
CLOSES, STAYS = b"connection: close\r\n", b"connection: keep-alive\r\n"
EXPECTED, CONTINUE = b"100-continue", b"HTTP/1.1 100 Continue\r\n\r\n"
# To close without lingering tells the other side of a reset, not of an end.
NO_LINGER = struct.pack("ii", 1, 0)

log = logging.getLogger(__name__)


def lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """Return headers as they go over the wire."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1", "replace")


@functools.lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()


@functools.lru_cache(maxsize=64)
def _path(url: bytes) -> str:
    text = url.decode("latin-1")
    try:
        path = text.partition("?")[0] if text.startswith("/") else urlsplit(text).path
    except ValueError:
        return ""
    return unquote(path.partition("#")[0])


def _first_lines(status: int) -> bytes:
    return (STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status) + _date(time.time_ns() // NS)


class Exchange:
    """A request, and the means to respond to it."""

    __slots__ = (
        "_connection",
        "_framed",
        "_is_old",
        "body",
        "gone",
        "headers",
        "method",
        "received_ns",
        "stays",
        "url",
    )

    def __init__(self, connection: Connection, url: bytes, headers: dict[bytes, bytes], body: bytes) -> None:
        parser = connection.parser
        self._connection = connection
        self._framed = True
        self.stays: bool = parser.should_keep_alive()
        """Whether the connection outlives the answer."""
        # Without a `connection` header, HTTP/1.1 keeps the connection open and HTTP/1.0 closes it.
        is_explicit = b"connection" in headers or not self.stays
        self._is_old = is_explicit and parser.get_http_version() == "1.0"
        self.method: bytes = parser.get_method()
        self.url = url
        self.headers = headers
        """By their names in lower case."""
        self.body = body
        self.received_ns = time.time_ns()
        """When all of it was there (Unix time)."""
        self.gone: Callable[[], None] | None = None
        """To be called, once, if there will be no answer: the client has left, or something failed."""

    @property
    def path(self) -> str:
        """Where the request goes, without its query."""
        return _path(self.url)

    @property
    def query(self) -> str:
        """The query string."""
        return self.url.decode("latin-1").partition("?")[2].partition("#")[0]

    def respond(self, status: int, head: bytes, body: bytes) -> None:
        """Answer, all at once."""
        self._connection.write(
            b"%b%b%bcontent-length: %d\r\n\r\n%b"
            % (_first_lines(status), head, self._lasting(), len(body), b"" if self.method == b"HEAD" else body)
        )
        self._connection.answered(self)

    def start(self, status: int, head: bytes) -> None:
        """Begin an answer in pieces."""
        if self._is_old:
            # It knows no pieces: the answer ends where the connection does.
            self._framed = self.stays = False
        self._connection.write(
            b"%b%b%b%b\r\n" % (_first_lines(status), head, self._lasting(), CHUNKED if self._framed else b"")
        )

    def send(self, piece: bytes) -> None:
        """Send the next piece, which is not empty."""
        self._connection.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._framed else piece)

    def finish(self) -> None:
        """End an answer in pieces."""
        if self._framed:
            self._connection.write(b"0\r\n\r\n")
        self._connection.answered(self)

    def cut(self) -> None:
        """Reset the connection, once what was sent is on its way."""
        self.gone = None
        self._connection.reset()

    def fail(self, error: Exception) -> None:
        """Log an error of the mock, and reset the connection."""
        log.error("The mock failed at %s %s", self.method.decode("latin-1"), self.path, exc_info=error)
        self._connection.reset()

    def _lasting(self) -> bytes:
        if not self.stays:
            return CLOSES
        return STAYS if self._is_old else b""


class Connection(asyncio.Protocol):
    """One client's connection."""

    __slots__ = (
        "_current",
        "_head_size",
        "_headers",
        "_parts",
        "_reads_head",
        "_serve",
        "_size",
        "_transport",
        "_url",
        "_waiting",
        "parser",
        "write",
    )

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._current: Exchange | None = None
        self._waiting: deque[Exchange] = deque()
        self._head_size = 0
        self.parser = HttpRequestParser(self)
        self.on_message_begin()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self.write = self._transport.write

    def data_received(self, data: bytes) -> None:
        """Take in what came; serve each request that is complete."""
        if self._reads_head:
            self._head_size += len(data)
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._decline(data[upgrade.args[0] :])
        except HttpParserError as error:
            # Data after the last request of a connection is ignored.
            if self._current is None or self._current.stays:
                self._give_up(HTTPStatus.BAD_REQUEST, f"This is not HTTP/1.1: {error}.\n")
        if self._reads_head and self._head_size > MOST_HEAD_BYTES:
            self._give_up(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "Address and headers are larger than 256 KiB.\n")

    def connection_lost(self, _: Exception | None) -> None:
        """Notify the deliveries that have not ended."""
        self._abandon()

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Expect a request."""
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._reads_head = True

    def on_url(self, part: bytes) -> None:
        """Note where the request goes; it may come in parts."""
        self._url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header; what comes after the body is none."""
        if self._reads_head:
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Refuse what is too large, and encourage those who ask before they send it."""
        self._reads_head = False
        self._head_size = 0
        headers = self._headers
        if b"content-length" in headers and int(headers[b"content-length"]) > MOST_BODY_BYTES:
            self._refuse_body()
        elif b"expect" in headers and self._current is None and headers[b"expect"].lower() == EXPECTED:
            self.write(CONTINUE)

    def on_body(self, part: bytes) -> None:
        """Note a part of the body."""
        self._size += len(part)
        if self._size <= MOST_BODY_BYTES:
            self._parts.append(part)
        elif not self._transport.is_closing():
            self._refuse_body()

    def on_message_complete(self) -> None:
        """Serve the request, unless others come first."""
        if self._transport.is_closing() or (b"upgrade" in self._headers and self.parser.should_upgrade()):
            return
        parts = self._parts
        exchange = Exchange(self, self._url, self._headers, parts[0] if len(parts) == 1 else b"".join(parts))
        if self._current is None and not self._waiting:
            self._begin(exchange)
            return
        self._waiting.append(exchange)
        if len(self._waiting) == MOST_WAITING:
            self._transport.pause_reading()

    # What an exchange calls.

    def answered(self, exchange: Exchange) -> None:
        """Go on to the next request, if there is one."""
        self._current = None
        if not exchange.stays:
            self._transport.close()
        elif self._waiting:
            asyncio.get_running_loop().call_soon(self._go_on)

    def reset(self) -> None:
        """Close as a dying provider does."""
        self._abandon()
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self._transport.close()

    def _go_on(self) -> None:
        if self._waiting and self._current is None:
            if len(self._waiting) == MOST_WAITING:
                self._transport.resume_reading()
            self._begin(self._waiting.popleft())

    def _begin(self, exchange: Exchange) -> None:
        self._current = exchange
        try:
            self._serve(exchange)
        except Exception as error:  # noqa: BLE001  # the client must not wait for ever, nor the parser stumble over it
            exchange.fail(error)

    def _abandon(self) -> None:
        exchange, self._current = self._current, None
        self._waiting.clear()
        if exchange is not None and exchange.gone is not None:
            exchange.gone()

    def _decline(self, rest: bytes) -> None:
        """Read a request that would rather speak another protocol as if it had not said so."""
        unsaid = {b"upgrade", b"connection"}
        kept = [name + b": " + value for name, value in self._headers.items() if name not in unsaid]
        head = b"\r\n".join([b"%b %b HTTP/1.1" % (self.parser.get_method(), self._url), *kept, b"", b""])
        self.parser = HttpRequestParser(self)
        self.data_received(head + rest)

    def _refuse_body(self) -> None:
        self._give_up(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is larger than 64 MiB.\n")

    def _give_up(self, status: HTTPStatus, why: str) -> None:
        if self._current is not None:
            self.reset()
            return
        body = why.encode()
        self.write(b"%b%b%bcontent-length: %d\r\n\r\n%b" % (_first_lines(status), PLAIN, CLOSES, len(body), body))
        self._transport.close()
