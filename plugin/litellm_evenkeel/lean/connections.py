"""New connections that are accepted together, not one in each turn of the event loop.

uvloop accepts one connection in each turn of its loop. In a busy proxy, a turn takes tens of milliseconds. So when a
hundred clients connect at once, the last of them is accepted seconds later, while those before it are already served.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
from typing import TYPE_CHECKING, cast

from uvicorn import Server

if TYPE_CHECKING:
    from collections.abc import Callable

# Each accepts one connection in a turn of the loop.
LISTENERS = 32


def accept_connections_together() -> None:
    """Make the server of this worker accept up to `LISTENERS` connections in a turn of its event loop."""
    original = Server.main_loop

    async def main_loop(server: Server) -> None:
        # asyncio's own loop accepts all connections that wait.
        if type(asyncio.get_running_loop()).__module__.startswith("uvloop"):
            for listening in [listening for running in server.servers for listening in running.sockets]:
                if listening.family in (socket.AF_INET, socket.AF_INET6):
                    await _add_listeners(server, listening.fileno())
        await original(server)

    Server.main_loop = main_loop  # type: ignore[assignment, method-assign]


async def _add_listeners(server: Server, descriptor: int) -> None:
    """Add listeners that accept connections of the same socket. The server closes them with its own."""
    config = server.config
    protocol = functools.partial(
        cast("Callable[..., asyncio.Protocol]", config.http_protocol_class),
        config=config,
        server_state=server.server_state,
        app_state=server.lifespan.state,
    )
    for _ in range(LISTENERS - 1):
        same = socket.socket(fileno=os.dup(descriptor))
        added = await asyncio.get_running_loop().create_server(
            protocol, sock=same, ssl=config.ssl, backlog=config.backlog
        )
        server.servers.append(added)
