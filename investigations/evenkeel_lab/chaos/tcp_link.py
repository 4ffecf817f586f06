"""A TCP link that can be slowed down and cut: it forwards each connection to a server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit, urlunsplit

from evenkeel_lab.stack.ports import LOOPBACK, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CHUNK_BYTES = 65_536


class TcpLink:
    """The link to one server, as an async context manager."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        """The port of the server, for new connections."""
        self.port = free_port()
        self.delay = 0.0
        """Seconds by which each chunk is delayed, in both directions."""
        self.is_cut = False
        """Whether new connections are reset."""
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._serve, LOOPBACK, self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        self._server.close()
        self._close_connections()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def url(self, url: str) -> str:
        """Return a server's address with the port of this link."""
        parts = urlsplit(url)
        credentials, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{credentials}{at}{LOOPBACK}:{self.port}"))

    @contextlib.contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Delay all traffic during the block."""
        self.delay = seconds
        try:
            yield
        finally:
            self.delay = 0.0

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Reset all connections, new ones too, during the block."""
        self.is_cut = True
        self._close_connections()
        try:
            yield
        finally:
            self.is_cut = False

    @contextlib.asynccontextmanager
    async def refusing(self) -> AsyncIterator[None]:
        """Reset all connections, and do not listen during the block: new connections are refused by the system."""
        self._server.close()
        self._close_connections()
        try:
            yield
        finally:
            self._server = await asyncio.start_server(self._serve, LOOPBACK, self.port)

    def _close_connections(self) -> None:
        for writer in self._writers:
            _reset(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            _reset(writer)
            return
        try:
            onward_reader, onward_writer = await asyncio.open_connection(LOOPBACK, self.target_port)
        except OSError:
            _reset(writer)
            return
        pair = {writer, onward_writer}
        self._writers |= pair
        directions = [
            asyncio.ensure_future(self._forward(reader, onward_writer)),
            asyncio.ensure_future(self._forward(onward_reader, writer)),
        ]
        self._tasks.update(directions)
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in directions:
                task.cancel()
                self._tasks.discard(task)
            for each in pair:
                each.close()
            self._writers -= pair

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(chunk)
                await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST instead of FIN, as after a crash."""
    connection = writer.get_extra_info("socket")
    # The other end may have closed it a moment ago.
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
