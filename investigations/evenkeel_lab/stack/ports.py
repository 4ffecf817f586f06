"""Free ports on loopback."""

from __future__ import annotations

import asyncio
import os
import random
import socket

from evenkeel_lab.errors import RigFailure, WrongUse

# Below the range of outgoing connections. So the system does not give a free port to a client before it is used.
LOWEST, HIGHEST = 20_000, 32_000
LOWEST_UNPRIVILEGED = 1024
LOOPBACK = "127.0.0.1"
_reserved: set[int] = set()


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port(wanted: int | None = None) -> int:
    """Return `wanted` if it is free, or any free port if it is `None`. No port is returned twice."""
    if wanted is not None:
        if wanted < LOWEST_UNPRIVILEGED and os.geteuid() != 0:
            raise WrongUse(f"Port {wanted} is for root only.", hint=f"Use a port from {LOWEST_UNPRIVILEGED} on.")
        if not is_free(wanted):
            raise WrongUse(
                f"Port {wanted} is in use.", hint="Use another port, or omit the option to use any free port."
            )
        _reserved.add(wanted)
        return wanted
    candidates = random.sample(range(LOWEST, HIGHEST), 2_000)
    for port in candidates:
        if port not in _reserved and is_free(port):
            _reserved.add(port)
            return port
    raise RigFailure("No port is free on loopback.", hint=f"Free a port between {LOWEST} and {HIGHEST}.")


async def accepts(port: int) -> bool:
    """Return whether a server listens on `port`."""
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    writer.close()
    return True
