"""Whether a server is there that answers as Postgres does: found out at little cost, before a driver tries to connect.

What asyncpg does before it sends a byte holds the loop up for a millisecond: of a server that is gone, or hangs, every
try would be felt by the requests that are served meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import struct
from urllib.parse import parse_qsl, urlsplit

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
