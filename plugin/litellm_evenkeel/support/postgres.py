"""A database URL as Prisma and LiteLLM write it, translated for asyncpg, and the plugin's own schema.

The schema is not LiteLLM's, because LiteLLM's migrations may drop tables that they do not know.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import struct
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

DEFAULT_PORT = 5432
SCHEMA = "evenkeel"
# Only one of the workers that start together creates tables. Concurrent statements that create can fail.
LOCK = f"SELECT pg_advisory_xact_lock(hashtext('{SCHEMA}'))"
# `CREATE SCHEMA IF NOT EXISTS` checks the permission first, and so fails for a user who may not create schemas even if
# the schema exists. So its existence is checked with a query.
HAS_SCHEMA = f"SELECT to_regnamespace('{SCHEMA}') IS NOT NULL"
CREATE_SCHEMA = f"CREATE SCHEMA {SCHEMA}"
FINGERPRINT_DIGITS = 8
# The SSLRequest message. Every version of Postgres answers it with one byte, before any authentication.
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
# With one of these, a URL names its servers in its query, or skips the SSLRequest. Then it cannot be checked.
UNCHECKED_PARAMETERS = frozenset({"host", "port", "sslnegotiation"})


async def check_listening(url: str) -> None:
    """Wait until the server has answered an SSLRequest, without a time limit; raise `OSError` if none listens."""
    address = urlsplit(url)
    hosts = address.netloc.rpartition("@")[2]
    can_check = address.hostname and not {",", "%"} & set(hosts) and "PGPORT" not in os.environ
    if not can_check or UNCHECKED_PARAMETERS & dict(parse_qsl(address.query)).keys():
        return
    reader, writer = await asyncio.open_connection(address.hostname, address.port or DEFAULT_PORT)
    try:
        writer.write(SSL_REQUEST)
        if not await reader.read(1):
            raise ConnectionResetError
    finally:
        writer.transport.abort()


# asyncpg sends unknown parameters to the server as server settings, and the server rejects Prisma's own:
# `connection_limit`, `pool_timeout`, `pgbouncer` and any that Prisma adds later.
ASYNCPG_PARAMETERS = frozenset(
    {"host", "port", "user", "password", "database", "dbname", "passfile", "options", "application_name"}
    | {"target_session_attrs", "krbsrvname", "gsslib"}
    | {"sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "sslnegotiation"}
)


def is_pooled(url: str) -> bool:
    """Return whether a URL names a pooler, such as PgBouncer, that may run each transaction on another connection."""
    return dict(parse_qsl(urlsplit(url).query)).get("pgbouncer", "").lower() == "true"


def database_fingerprint(url: str) -> str:
    """Return a short hash of a database's host, port and name. Nothing secret goes into it."""
    try:
        address = urlsplit(url)
        identity = f"{address.hostname} {address.port} {address.path} {dict(parse_qsl(address.query)).get('host')}"
    except ValueError:
        identity = ""
    return hashlib.sha256(identity.encode()).hexdigest()[:FINGERPRINT_DIGITS]


def arguments(url: str) -> dict[str, Any]:
    """Return the arguments for asyncpg: the URL, and the schema that Prisma would use as the search path."""
    address = urlsplit(url)
    parameters = parse_qsl(address.query)
    kept = urlencode([(name, value) for name, value in parameters if name in ASYNCPG_PARAMETERS])
    schema = dict(parameters).get("schema")
    # Set at connect time: poolers in front of a Postgres with several schemas are configured to let this one through.
    server_settings = {"search_path": '"' + schema.replace('"', '""') + '"'} if schema else {}
    return {"dsn": urlunsplit(address._replace(query=kept)), "server_settings": server_settings}


async def create_tables(connection: Any, statements: str) -> None:
    """Execute statements that create tables in the plugin's schema, which is created if it is missing."""
    async with connection.transaction():
        await connection.execute(LOCK)
        if not await connection.fetchval(HAS_SCHEMA):
            await connection.execute(CREATE_SCHEMA)
        await connection.execute(statements)
