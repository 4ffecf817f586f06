"""Low-overhead clients on plain sockets: a slow client would make the server look late.

ask      requests over a few connections, on all of them at a time: what a request costs
offer    requests at a rate, sent when they are due whether or not others have been answered: what a rate does
listen   streams, whose chunks are timed
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import psutil

from evenkeel_mock.server.open_files import allow_many_files

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPBACK = "127.0.0.1"
SENT = re.compile(rb"x-mock-sent-ns: (\d+)", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
HEAD_END, STREAM_END = b"\r\n\r\n", b"0\r\n\r\n"
CHUNK, EMPTY_CHUNK = b'"content":"', b'"content":""'
NS_PER_MS = 1_000_000
MS = 1000.0
READ_BYTES = 1 << 16
SILENCE_SECONDS = 20.0
# Shorter sleeps than this are not exact enough to send a request on time.
SLEEP_SECONDS = 0.002


class Offered(NamedTuple):
    """Result of requests sent at a fixed rate."""

    answered: int
    seconds: float
    """From the first request to the last answer."""
    latency_ms: list[float]
    """From when each request was due to its answer."""
    lag_ms: list[float]
    """By how much each was sent too late: the probe's own fault."""


class Cpu:
    """The CPU time of a process and of those that it has started."""

    def __init__(self, pid: int) -> None:
        parent = psutil.Process(pid)
        self._processes = [parent, *parent.children(recursive=True)]

    def seconds(self) -> float:
        """Return what they have used so far."""
        times = (process.cpu_times() for process in self._processes)
        return sum(spent.user + spent.system for spent in times)


def request_bytes(body: bytes) -> bytes:
    """Return a chat request as it goes over the wire."""
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {LOOPBACK}\r\nauthorization: Bearer sk-bench\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def ask(port: int, request: bytes, times: int, connections: int) -> None:
    """Send `times` requests over each of `connections` connections, on all of them at a time."""
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


def offer(port: int, request: bytes, rate: float, seconds: float, connections: int) -> Offered:
    """Send requests at a steady rate for `seconds`. Those without an answer after twice that time are not counted."""
    lines = [Line(_connect(port)) for _ in range(connections)]
    latency: list[float] = []
    lag: list[float] = []
    total, sent = int(rate * seconds), 0
    with selectors.DefaultSelector() as selector:
        for line in lines:
            selector.register(line.client, selectors.EVENT_READ, line)
        start = now = time.perf_counter()
        deadline = start + 2 * seconds
        while len(latency) < total and now < deadline:
            while sent < total and (due := start + sent / rate) <= now:
                lines[sent % connections].send(request, due)
                lag.append((now - due) * MS)
                sent += 1
                now = time.perf_counter()
            until = start + sent / rate - now if sent < total else deadline - now
            for key, _ in selector.select(until if until > SLEEP_SECONDS else 0):
                latency += key.data.receive()
            now = time.perf_counter()
    for line in lines:
        line.client.close()
    return Offered(len(latency), now - start, latency, lag)


class Line:
    """One connection with any number of requests on their way."""

    def __init__(self, client: socket.socket) -> None:
        self.client = client
        self._due: deque[float] = deque()
        self._rest = b""

    def send(self, request: bytes, due: float) -> None:
        """Send a request that was due then."""
        self._due.append(due)
        self.client.sendall(request)

    def receive(self) -> Iterator[float]:
        """Return the latencies, in ms, of the answers that have come."""
        data = self._rest + self.client.recv(READ_BYTES)
        now = time.perf_counter()
        # An answer comes in one piece, its body after the only empty line in it.
        for _ in range(data.count(HEAD_END)):
            yield (now - self._due.popleft()) * MS
        self._rest = data[-len(HEAD_END) + 1 :]


def listen(port: int, request: bytes, streams: int, gap_ms: float) -> list[float]:
    """Open streams as fast as possible. Return the lateness of all chunks in milliseconds."""
    allow_many_files()
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
    """A stream that records the lateness of its chunks, relative to the start that the server states."""

    def __init__(self, gap_ms: float, late_ms: list[float]) -> None:
        self._gap_ns = gap_ms * NS_PER_MS
        self._late_ms = late_ms
        self._due = 0.0

    def received(self, data: bytes) -> bool:
        """Time the chunks in what came; return whether it was the end."""
        now = time.time_ns()
        if not self._due:
            match = SENT.search(data)
            self._due = float(match.group(1)) if match else now
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
            match = LENGTH.search(head)
            assert match is not None, head
            if len(body) >= int(match.group(1)):
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
