"""Free ports on loopback, and one kind of question to them."""

from __future__ import annotations

import asyncio
import os
import random
import socket

from evenkeel_lab.errors import RigFailure, WrongUse

# Below the range from which systems take the near ends of outgoing connections: a port found free here is
# not handed to some client between the look and the use.
LOWEST, HIGHEST = 20_000, 32_000
LOWEST_UNPRIVILEGED = 1024
LOOPBACK = "127.0.0.1"
_given: set[int] = set()


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port(wanted: int | None = None) -> int:
    """Return the wanted port if it is free, or any free one; never the same one twice."""
    if wanted is not None:
        if wanted < LOWEST_UNPRIVILEGED and os.geteuid() != 0:
            raise WrongUse(f"Port {wanted} is for root only.", hint=f"Name one from {LOWEST_UNPRIVILEGED} on.")
        if not is_free(wanted):
            raise WrongUse(f"Port {wanted} is in use.", hint="Name another one, or none to have a free one chosen.")
        _given.add(wanted)
        return wanted
    candidates = random.sample(range(LOWEST, HIGHEST), 2_000)
    for port in candidates:
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    raise RigFailure("No free port on loopback.", hint=f"Free one between {LOWEST} and {HIGHEST}.")


async def accepts(port: int) -> bool:
    """Whether something listens there."""
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    writer.close()
    return True
