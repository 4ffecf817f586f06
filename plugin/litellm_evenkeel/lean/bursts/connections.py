"""New connections that are accepted together, not one in each turn of the event loop.

uvloop accepts one connection in each turn of its loop. In a busy proxy, a turn takes tens of milliseconds. So when a
hundred clients connect at once, the last of them is accepted seconds later, while those before it are already served.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
from typing import TYPE_CHECKING, cast

from uvicorn import Server

from litellm_evenkeel import proxy_process

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logging.getLogger("litellm_evenkeel.lean")
# The workers of a proxy share them. Each accepts one connection in a turn of the loop.
LISTENERS = 32


def accept_connections_together() -> None:
    """Make the server of this worker accept several connections in a turn of its event loop."""
    original = Server.main_loop
    # The more workers, the fewer for each: a busy worker should leave connections to the others.
    added = LISTENERS // max(1, proxy_process.worker_count(os.environ) or 1) - 1

    async def main_loop(server: Server) -> None:
        # asyncio's own loop accepts all connections that wait.
        if type(asyncio.get_running_loop()).__module__.startswith("uvloop"):
            for listening in [listening for running in server.servers for listening in running.sockets]:
                if listening.family in (socket.AF_INET, socket.AF_INET6):
                    try:
                        await _add_listeners(server, listening.fileno(), added)
                    except OSError as error:
                        LOG.warning("evenkeel: not all connections that wait are accepted at once: %s", error)
        await original(server)

    Server.main_loop = main_loop  # type: ignore[assignment, method-assign]


async def _add_listeners(server: Server, descriptor: int, count: int) -> None:
    """Add listeners that accept connections of the same socket. The server closes them with its own."""
    config = server.config
    protocol = functools.partial(
        cast("Callable[..., asyncio.Protocol]", config.http_protocol_class),
        config=config,
        server_state=server.server_state,
        app_state=server.lifespan.state,
    )
    for _ in range(count):
        same = socket.socket(fileno=os.dup(descriptor))
        try:
            added = await asyncio.get_running_loop().create_server(
                protocol, sock=same, ssl=config.ssl, backlog=config.backlog
            )
        except OSError:
            same.close()
            raise
        server.servers.append(added)
