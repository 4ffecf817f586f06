"""A database's address, as others write it and as the driver wants it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.support.postgres import SSL_REQUEST, arguments, check_listening, database_fingerprint, is_pooled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def test_what_only_prisma_understands_is_left_out() -> None:
    told = arguments("postgresql://u:p%40@h:1/d?connection_limit=5&sslmode=require&pgbouncer=true")
    assert told == {"dsn": "postgresql://u:p%40@h:1/d?sslmode=require", "server_settings": {}}


def test_prismas_schema_is_the_search_path() -> None:
    assert arguments("postgresql://h/d?schema=my")["server_settings"] == {"search_path": '"my"'}
    assert arguments('postgresql://h/d?schema=a"b')["server_settings"] == {"search_path": '"a""b"'}


def test_a_pooler_is_named_as_prisma_wants_it() -> None:
    told = ("", "?pgbouncer=true", "?schema=x&pgbouncer=TRUE", "?pgbouncer=false")
    assert [is_pooled(f"postgresql://h/d{query}") for query in told] == [False, True, True, False]


def test_databases_are_told_apart_by_where_they_are_and_by_nothing_secret() -> None:
    same = {
        database_fingerprint(f"postgresql://{who}@h:1/d?sslmode={mode}")
        for who in ("u:p", "v:q")
        for mode in ("require", "off")
    }
    assert len(same) == 1
    others = {
        database_fingerprint(url)
        for url in ("postgresql://h:1/d", "postgresql://h:2/d", "postgresql://h:1/e", "postgresql://g:1/d")
    }
    assert len(others) == 4
    assert database_fingerprint("postgresql://[h/d") == database_fingerprint("postgresql://h:port/d")


@asynccontextmanager
async def answering(answer: bytes | None) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that hears one question, and hangs up if it has no answer; with None, it says nothing."""
    heard: list[bytes] = []
    is_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readexactly(len(SSL_REQUEST)))
        if answer is None:
            await is_over.wait()
        else:
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        is_over.set()
        server.close()


@pytest.mark.parametrize("answer", [b"S", b"N", b"E"])
async def test_whoever_answers_is_there(answer: bytes) -> None:
    async with answering(answer) as (port, heard):
        await check_listening(f"postgresql://me:se%2Cret@127.0.0.1:{port}/it?sslmode=prefer&schema=x")
    # "SSLRequest" of the protocol.
    assert heard == [bytes.fromhex("0000000804d2162f")]


async def test_who_hangs_up_is_not_there() -> None:
    async with answering(b"") as (port, _):
        with pytest.raises(ConnectionResetError):
            await check_listening(f"postgresql://127.0.0.1:{port}/it")


async def test_nobody_is_there() -> None:
    async with answering(b"") as (port, _):
        pass
    with pytest.raises(ConnectionRefusedError):
        await check_listening(f"postgresql://127.0.0.1:{port}/it")


async def test_who_says_nothing_is_waited_for() -> None:
    async with answering(None) as (port, _):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await check_listening(f"postgresql://127.0.0.1:{port}/it")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///it?host=/var/run/postgresql",
        "postgresql://me@/it",
        "postgresql://me@%2Fvar%2Frun%2Fpostgresql/it",
        "postgresql://127.0.0.1:1,127.0.0.1:2/it",
        "postgresql://127.0.0.1:1/it?host=127.0.0.2",
        "postgresql://127.0.0.1:1/it?sslnegotiation=direct",
    ],
)
async def test_where_nobody_knows_where_it_leads_all_is_left_to_the_driver(address: str) -> None:
    await check_listening(address)
