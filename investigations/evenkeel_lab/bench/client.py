"""The cheapest clients that tell the truth: plain sockets, since a costly client makes the server look late."""

from __future__ import annotations

import re
import selectors
import socket
import time

from evenkeel_lab.stack.ports import LOOPBACK

SENT = re.compile(rb"x-mock-sent-ns: (\d+)", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
HEAD_END, STREAM_END = b"\r\n\r\n", b"0\r\n\r\n"
CHUNK, EMPTY_CHUNK = b'"content":"', b'"content":""'
NS_PER_MS = 1_000_000
READ_BYTES = 1 << 16
SILENCE_SECONDS = 20.0


def request_bytes(body: bytes) -> bytes:
    """Return a chat request as it goes over the wire."""
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {LOOPBACK}\r\nauthorization: Bearer sk-bench\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def ask(port: int, request: bytes, times: int, connections: int) -> None:
    """Send so many requests over each of so many connections, on all of them at a time."""
    clients = [_connect(port) for _ in range(connections)]
    try:
        for _ in range(times):
            for client in clients:
                client.sendall(request)
            for client in clients:
                _read_answer(client)
    finally:
        for client in clients:
            client.close()


def listen(port: int, request: bytes, streams: int, gap_ms: float) -> list[float]:
    """Open so many streams as fast as can be; return by how many ms each chunk of each came too late."""
    late: list[float] = []
    with selectors.DefaultSelector() as selector:
        for _ in range(streams):
            client = _connect(port)
            client.sendall(request)
            selector.register(client, selectors.EVENT_READ, Stream(gap_ms, late))
            _read_streams(selector, 0)
        while selector.get_map():
            if not _read_streams(selector, SILENCE_SECONDS):
                raise TimeoutError(f"{len(selector.get_map())} streams have fallen silent")
    return late


class Stream:
    """One stream: notes how late each chunk is, counted from the time at which the server says it began."""

    def __init__(self, gap_ms: float, late_ms: list[float]) -> None:
        self._gap_ns = gap_ms * NS_PER_MS
        self._late_ms = late_ms
        self._due = 0.0

    def received(self, data: bytes) -> bool:
        """Time the chunks in what came; return whether it was the end."""
        now = time.time_ns()
        if not self._due:
            found = SENT.search(data)
            self._due = float(found.group(1)) if found else now
        for _ in range(data.count(CHUNK) - data.count(EMPTY_CHUNK)):
            self._late_ms.append((now - self._due) / NS_PER_MS)
            self._due += self._gap_ns
        return data.endswith(STREAM_END)


def _connect(port: int) -> socket.socket:
    client = socket.create_connection((LOOPBACK, port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def _read_answer(client: socket.socket) -> None:
    data = client.recv(READ_BYTES)
    while data:
        head, end, body = data.partition(HEAD_END)
        if end:
            found = LENGTH.search(head)
            assert found is not None, head
            if len(body) >= int(found.group(1)):
                return
        data += client.recv(READ_BYTES)


def _read_streams(selector: selectors.BaseSelector, seconds: float) -> bool:
    ready = selector.select(seconds)
    for key, _ in ready:
        assert isinstance(key.fileobj, socket.socket)
        data = key.fileobj.recv(READ_BYTES)
        if not data or key.data.received(data):
            selector.unregister(key.fileobj)
            key.fileobj.close()
    return bool(ready)
