"""A database's address as Prisma and LiteLLM write it, for asyncpg."""

from __future__ import annotations

import asyncio
import hashlib
import os
import struct
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

PORT = 5432
# "Do you speak TLS?", which any version answers with one byte, and for which it does not want to know who asks.
QUESTION = struct.pack("!ii", 8, 80877103)
# Of an address that names its servers elsewhere, or skips the question, nothing is known.
ELSEWHERE = frozenset({"host", "port", "sslnegotiation"})


async def check_listening(url: str) -> None:
    """Return when a server has answered, however long that takes; raise OSError if nobody is there."""
    address = urlsplit(url)
    hosts = address.netloc.rpartition("@")[2]
    is_plain = address.hostname and not {",", "%"} & set(hosts) and "PGPORT" not in os.environ
    if not is_plain or ELSEWHERE & dict(parse_qsl(address.query)).keys():
        return
    reader, writer = await asyncio.open_connection(address.hostname, address.port or PORT)
    try:
        writer.write(QUESTION)
        if not await reader.read(1):
            raise ConnectionResetError
    finally:
        writer.transport.abort()


DIGITS = 8
SCHEMES = ("postgres://", "postgresql://")
WRITTEN = "Write postgresql://user:password@host:5432/name, without quotes, and what is special in it as %40."
# asyncpg takes what it does not know for a setting of the server, and the server refuses Prisma's: `connection_limit`,
# `pool_timeout`, `pgbouncer` and whatever comes next.
KNOWN = frozenset(
    {"host", "port", "user", "password", "database", "dbname", "passfile", "options", "application_name"}
    | {"target_session_attrs", "krbsrvname", "gsslib"}
    | {"sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "sslnegotiation"}
)


def is_postgres(url: str) -> bool:
    """Return whether an address is written as one."""
    return url.lower().startswith(SCHEMES)


def is_pooled(url: str) -> bool:
    """Return whether an address says that a pooler stands between which gives each transaction another connection."""
    return dict(parse_qsl(urlsplit(url).query)).get("pgbouncer", "").lower() == "true"


def place(url: str) -> str:
    """Return what tells a database from others: a short hash of host, port and name, and of nothing that is secret."""
    try:
        address = urlsplit(url)
        told = f"{address.hostname} {address.port} {address.path} {dict(parse_qsl(address.query)).get('host')}"
    except ValueError:
        told = ""
    return hashlib.sha256(told.encode()).hexdigest()[:DIGITS]


def arguments(url: str) -> dict[str, Any]:
    """Return what to hand to asyncpg: the address, and the schema that Prisma would use as the search path."""
    address = urlsplit(url)
    told = parse_qsl(address.query)
    kept = urlencode([(name, value) for name, value in told if name in KNOWN])
    schema = dict(told).get("schema")
    # Set when connecting, as poolers in front of a Postgres with several schemas are told to let it through.
    path = {"search_path": '"' + schema.replace('"', '""') + '"'} if schema else {}
    return {"dsn": urlunsplit(address._replace(query=kept)), "server_settings": path}
