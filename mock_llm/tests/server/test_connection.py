"""HTTP as it goes over the wire: what a client library would hide."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING

import pytest

from evenkeel_mock.server.connection import MOST_BODY_BYTES, MOST_HEAD_BYTES, Connection, Exchange, lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OPEN = b"POST /say?what=this HTTP/1.1\r\nhost: a\r\n"


class Handler:
    """A server that echoes requests; those to `/later` on demand."""

    def __init__(self) -> None:
        self.later: list[Exchange] = []
        self.left: list[str] = []

    def __call__(self, exchange: Exchange) -> None:
        match exchange.path:
            case "/later":
                exchange.gone = partial(self.left.append, exchange.query)
                self.later.append(exchange)
            case "/pieces":
                exchange.start(200, b"")
                for piece in (b"one ", b"two"):
                    exchange.send(piece)
                exchange.finish()
            case "/cut":
                exchange.start(200, b"")
                exchange.send(b"half")
                exchange.cut()
            case "/fail":
                raise ZeroDivisionError
            case path:
                said = b"%b %b %b %b" % (exchange.method, path.encode(), exchange.query.encode(), exchange.body)
                exchange.respond(200, lines([("x-said", "é")]), said)


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture
async def wire(handler: Handler) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    server = await asyncio.get_running_loop().create_server(partial(Connection, handler), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    yield reader, writer
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    server.close()


async def answer(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
    return head, await reader.readexactly(length)


async def test_requests_on_one_connection(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    for said in (b"a", b"bc"):
        writer.write(OPEN + b"content-length: %d\r\n\r\n%b" % (len(said), said))
        head, body = await answer(reader)
        assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
        assert b"\r\nx-said: \xe9\r\n" in head
        assert b"connection:" not in head
        assert body == b"POST /say what=this " + said


async def test_a_request_in_many_parts(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    for at in range(len(whole := b"PUT /a%20b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz")):
        writer.write(whole[at : at + 1])
        await asyncio.sleep(0)
    assert (await answer(reader))[1] == b"PUT /a b  xyz"


async def test_a_body_in_chunks(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    writer.write(OPEN + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    assert (await answer(reader))[1].endswith(b"abcde")


async def test_pipelined_requests_are_answered_in_their_order(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], handler: Handler
) -> None:
    reader, writer = wire
    writer.write(b"".join(b"GET /%b HTTP/1.1\r\n\r\n" % name for name in (b"1", b"later", b"2", b"later", b"3")))
    assert (await answer(reader))[1] == b"GET /1  "
    handler.later[0].respond(200, b"", b"now")
    assert [(await answer(reader))[1] for _ in range(2)] == [b"now", b"GET /2  "]
    writer.write(b"GET /4 HTTP/1.1\r\n\r\n")
    await asyncio.sleep(0.01)
    handler.later[1].respond(200, b"", b"now")
    assert [(await answer(reader))[1] for _ in range(3)] == [b"now", b"GET /3  ", b"GET /4  "]


@pytest.mark.parametrize(
    ("request_head", "kept"),
    [
        (b"GET /x HTTP/1.1\r\n", True),
        (b"GET /x HTTP/1.1\r\nConnection: close\r\n", False),
        (b"GET /x HTTP/1.0\r\n", False),
        (b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n", True),
    ],
)
async def test_how_long_a_connection_lasts(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    request_head: bytes,
    kept: bool,  # noqa: FBT001
) -> None:
    reader, writer = wire
    writer.write(request_head + b"\r\n")
    head, _ = await answer(reader)
    assert (b"connection: close" in head) is not kept
    assert (b"connection: keep-alive" in head) is (kept and b"1.0" in request_head)
    if kept:
        writer.write(request_head + b"\r\n")
        await answer(reader)
    else:
        assert await reader.read() == b""


@pytest.mark.parametrize(("version", "sent"), [(b"1.1", b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"), (b"1.0", b"one two")])
async def test_an_answer_in_pieces(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], version: bytes, sent: bytes
) -> None:
    reader, writer = wire
    writer.write(b"GET /pieces HTTP/%b\r\nconnection: close\r\n\r\n" % version)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert body == sent
    assert (b"chunked" in head) is (version == b"1.1")


async def test_the_answer_to_a_head_has_no_body(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    writer.write(b"HEAD /x HTTP/1.1\r\nconnection: close\r\n\r\n")
    said = await reader.read()
    assert said.endswith(b"content-length: 9\r\n\r\n")


async def test_who_asks_first_is_encouraged(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    writer.write(OPEN + b"expect: 100-continue\r\ncontent-length: 1\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"x")
    assert (await answer(reader))[1].endswith(b"x")


async def test_who_would_rather_speak_another_protocol_is_answered_in_this_one(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], handler: Handler
) -> None:
    reader, writer = wire
    upgrade = OPEN + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\ncontent-length: 2\r\n\r\nab"
    writer.write(b"GET /later HTTP/1.1\r\n\r\n" + upgrade + b"GET /x HTTP/1.1\r\n\r\n")
    while not handler.later:
        await asyncio.sleep(0.001)
    handler.later[0].respond(200, b"", b"first")
    assert [(await answer(reader))[1] for _ in range(3)] == [b"first", b"POST /say what=this ab", b"GET /x  "]


async def test_a_head_without_end_is_refused(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    writer.write(b"GET /" + b"x" * MOST_HEAD_BYTES)
    assert (await answer(reader))[0].startswith(b"HTTP/1.1 431 ")


async def test_a_body_that_is_announced_too_large_is_refused_at_once(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    reader, writer = wire
    writer.write(OPEN + b"expect: 100-continue\r\ncontent-length: 100000000000\r\n\r\n")
    assert (await answer(reader))[0].startswith(b"HTTP/1.1 413 ")


async def test_many_pipelined_requests_are_all_answered(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], handler: Handler
) -> None:
    reader, writer = wire
    writer.write(b"GET /later HTTP/1.1\r\n\r\n" + b"GET /x HTTP/1.1\r\n\r\n" * 500)
    while not handler.later:
        await asyncio.sleep(0.001)
    handler.later[0].respond(200, b"", b"")
    assert len([await answer(reader) for _ in range(501)]) == 501


@pytest.mark.parametrize("path", [b"//[/", b"http://[", b"*"])
async def test_an_address_that_is_none_leads_nowhere(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: bytes
) -> None:
    reader, writer = wire
    writer.write(b"OPTIONS %b HTTP/1.1\r\n\r\n" % path)
    assert b"HTTP/1.1 " in await reader.readline()


async def test_whatever_follows_the_last_request_of_a_connection_changes_nothing(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], handler: Handler
) -> None:
    reader, writer = wire
    writer.write(b"GET /later HTTP/1.1\r\nConnection: close\r\n\r\n")
    while not handler.later:
        await asyncio.sleep(0.001)
    writer.write(b"\0garbage\r\n\r\n")
    await asyncio.sleep(0.01)
    handler.later[0].respond(200, b"", b"all the same")
    assert (await answer(reader))[1] == b"all the same"
    assert handler.left == []


async def test_garbage_on_a_busy_connection_ends_what_was_being_answered(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], handler: Handler
) -> None:
    reader, writer = wire
    writer.write(b"GET /later?who=me HTTP/1.1\r\n\r\n")
    while not handler.later:
        await asyncio.sleep(0.001)
    writer.write(b"\0garbage\r\n\r\n")
    with pytest.raises(ConnectionResetError):
        await reader.read()
    assert handler.left == ["who=me"]


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01", b"HELLO\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n"]
)
async def test_what_is_not_http_is_refused(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], garbage: bytes
) -> None:
    reader, writer = wire
    writer.write(garbage)
    head, body = await answer(reader)
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body.startswith(b"This is not HTTP/1.1")
    assert await reader.read() == b""


async def test_a_body_that_grows_too_large_is_refused(wire: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    reader, writer = wire
    writer.write(OPEN + b"transfer-encoding: chunked\r\n\r\n")
    # What is still on its way when the connection closes may turn the refusal into a reset.
    with contextlib.suppress(ConnectionError):
        for _ in range((MOST_BODY_BYTES >> 20) + 4):
            writer.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
            await writer.drain()
        assert (await answer(reader))[0].startswith(b"HTTP/1.1 413 ")
    assert writer.is_closing() or reader.at_eof() or not await reader.read()


@pytest.mark.parametrize("path", [b"/cut", b"/fail"])
async def test_a_cut_is_a_reset(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = wire
    with caplog.at_level(logging.CRITICAL):
        writer.write(b"GET %b HTTP/1.1\r\n\r\n" % path)
        with pytest.raises(ConnectionResetError):
            await reader.read()


async def test_a_client_that_leaves_is_told_of_once(
    wire: tuple[asyncio.StreamReader, asyncio.StreamWriter], handler: Handler
) -> None:
    _, writer = wire
    writer.write(b"GET /later?who=me HTTP/1.1\r\n\r\n" * 2)
    while not handler.later:
        await asyncio.sleep(0.001)
    writer.close()
    await writer.wait_closed()
    while not handler.left:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    assert handler.left == ["who=me"]
