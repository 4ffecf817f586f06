"""A link to a server that is slowed down and cut."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.chaos.tcp_link import TcpLink
from evenkeel_lab.stack.ports import LOOPBACK, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def link() -> AsyncIterator[TcpLink]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    port = free_port()
    async with await asyncio.start_server(echo, LOOPBACK, port), TcpLink(port) as opened:
        yield opened


async def echoed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"ahoy\n")
    return await asyncio.wait_for(reader.readline(), 5)


async def test_a_link_forwards_in_both_directions(link: TcpLink) -> None:
    connection = await asyncio.open_connection(LOOPBACK, link.port)
    assert await echoed(*connection) == b"ahoy\n"
    connection[1].close()


async def test_a_slow_link_delays_both_directions(link: TcpLink) -> None:
    connection = await asyncio.open_connection(LOOPBACK, link.port)
    with link.slow(0.05):
        began = time.monotonic()
        assert await echoed(*connection) == b"ahoy\n"
        assert time.monotonic() - began >= 0.1
    connection[1].close()


async def test_a_cut_link_resets_connections_and_refuses_new_ones(link: TcpLink) -> None:
    connection = await asyncio.open_connection(LOOPBACK, link.port)
    assert await echoed(*connection) == b"ahoy\n"
    with link.cut():
        with pytest.raises(ConnectionResetError):
            await connection[0].read()
        late = await asyncio.open_connection(LOOPBACK, link.port)
        with pytest.raises(ConnectionResetError):
            await late[0].read()
    again = await asyncio.open_connection(LOOPBACK, link.port)
    assert await echoed(*again) == b"ahoy\n"
    again[1].close()


async def test_a_link_to_a_dead_server_refuses_connections(link: TcpLink) -> None:
    connection = await asyncio.open_connection(LOOPBACK, link.port)
    assert await echoed(*connection) == b"ahoy\n"
    async with link.refusing():
        with pytest.raises(ConnectionResetError):
            await connection[0].read()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(LOOPBACK, link.port)
    again = await asyncio.open_connection(LOOPBACK, link.port)
    assert await echoed(*again) == b"ahoy\n"
    again[1].close()


def test_an_address_keeps_everything_but_its_port() -> None:
    link = TcpLink(1)
    assert link.url("postgresql://u:p%40@127.0.0.1:5/db?sslmode=disable") == (
        f"postgresql://u:p%40@127.0.0.1:{link.port}/db?sslmode=disable"
    )
    assert link.url("redis://127.0.0.1:5/3") == f"redis://127.0.0.1:{link.port}/3"
