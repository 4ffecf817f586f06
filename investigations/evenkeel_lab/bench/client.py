"""The cheapest clients that tell the truth: requests one after another, and streams whose chunks are timed."""

from __future__ import annotations

import asyncio
import functools
import re
import time

from evenkeel_lab.stack.ports import LOOPBACK

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
SENT = re.compile(rb"x-mock-sent-ns: (\d+)", re.IGNORECASE)
NS_PER_MS = 1_000_000


def request_bytes(body: bytes) -> bytes:
    """Return a chat request as it goes over the wire."""
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {LOOPBACK}\r\nauthorization: Bearer sk-bench\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def ask(port: int, request: bytes, times: int, connections: int) -> None:
    """Send so many requests over each of so many connections."""

    async def one() -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        for _ in range(times):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            found = LENGTH.search(head)
            assert found is not None, head
            await reader.readexactly(int(found.group(1)))
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))


class Listener(asyncio.Protocol):
    """One stream: notes how late each chunk comes, counted from the time at which the server says it began."""

    def __init__(self, request: bytes, gap_ms: float, done: asyncio.Future[None]) -> None:
        self._request = request
        self._gap_ns = gap_ms * NS_PER_MS
        self._done = done
        self._began = 0
        self.late_ms: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Time the chunks in what came."""
        now = time.time_ns()
        if not self._began:
            found = SENT.search(data)
            self._began = int(found.group(1)) if found else now
        for _ in range(data.count(b'"content":"') - data.count(b'"content":""')):
            due = self._began + len(self.late_ms) * self._gap_ns
            self.late_ms.append((now - due) / NS_PER_MS)
        if data.endswith(b"0\r\n\r\n") and not self._done.done():
            self._done.set_result(None)
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Do not wait for what will not come."""
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("closed in the middle of a stream"))


def _same(listener: Listener) -> Listener:
    return listener


async def listen(port: int, request: bytes, streams: int, gap_ms: float) -> list[float]:
    """Open so many streams at once; return how late each chunk of each was."""
    loop = asyncio.get_running_loop()
    listeners: list[Listener] = []
    ends = []
    for _ in range(streams):
        done: asyncio.Future[None] = loop.create_future()
        listener = Listener(request, gap_ms, done)
        await loop.create_connection(functools.partial(_same, listener), LOOPBACK, port)
        listeners.append(listener)
        ends.append(done)
    await asyncio.gather(*ends)
    return [late for listener in listeners for late in listener.late_ms]
