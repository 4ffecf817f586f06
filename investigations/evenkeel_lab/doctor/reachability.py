"""Checks that a server answers. Each returns `None`, or the reason why not, without secrets, within a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import asyncpg
import redis
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from evenkeel_lab.doctor.stores import POSTGRES_PORT, REDIS_PORT, UNREADABLE, RedisTarget, host_and_port
from evenkeel_lab.stack.servers.postgres import driver_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

REDIS_SECONDS = 2.0
DATABASE_SECONDS = 3.0
PORT_SECONDS = 3.0
POSTGRES_SCHEMES = frozenset({"postgresql", "postgres"})

R = TypeVar("R")


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads do not delay the exit: a name lookup cannot be cancelled, and can take a minute."""

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Run `fn` in a new thread."""
        future: Future[R] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as trouble:  # noqa: BLE001 - the future passes it on
                future.set_exception(trouble)
            else:
                future.set_result(result)

        threading.Thread(target=run, daemon=True).start()
        return future


async def port_problem(host: str, port: int, seconds: float = PORT_SECONDS) -> str | None:
    """Try to connect over TCP. Return `None`, or why that failed."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, ValueError, OverflowError) as trouble:
        return _reason(trouble)
    writer.close()
    return None


async def redis_problem(target: RedisTarget) -> str | None:
    """Send PING to a Redis. Return `None`, or why that failed."""
    try:
        if target.port_only:
            return await port_problem(*target.host_and_port)
        async with asyncio.timeout(2 * REDIS_SECONDS), _redis_client(target.options) as client:
            await client.ping()
    except (redis.RedisError, OSError, ValueError, TypeError, OverflowError) as trouble:
        return _reason(trouble)
    return None


async def database_problem(url: str) -> str | None:
    """Send `SELECT 1` to a Postgres. Return `None`, or why that failed."""
    try:
        plain = _postgres_address(url)
        async with asyncio.timeout(2 * DATABASE_SECONDS):
            connection = await asyncpg.connect(plain, timeout=DATABASE_SECONDS)
            try:
                await connection.fetchval("SELECT 1", timeout=DATABASE_SECONDS)
            finally:
                await connection.close(timeout=1)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, ValueError) as trouble:
        return _reason(trouble)
    return None


async def run_program(
    argv: Sequence[str], environment: Mapping[str, str], seconds: float, *, text: str = ""
) -> tuple[int | None, str]:
    """Run a program. Return its exit code, or `None` if it exceeded `seconds` and was killed, and its output."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(text.encode())
    except TimeoutError:
        return None, ""
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode, output.decode(errors="replace")


def _redis_client(options: Mapping[str, Any]) -> Redis:
    """Return a client with short timeouts and without retries."""
    arguments = dict(options)
    url = arguments.pop("url", None)
    # Every Redis supports the older protocol, which needs no exchange before the password.
    arguments |= {"protocol": 2, "socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
    # With retries, the client would exceed its timeouts.
    arguments["retry"] = Retry(NoBackoff(), 0)
    if url is not None:
        if host_and_port(url, REDIS_PORT) is None and not url.startswith("unix:"):
            raise ValueError(UNREADABLE)
        return Redis.from_url(url, **arguments)
    arguments |= {name: int(arguments[name]) for name in ("port", "db") if name in arguments}
    if "ssl" in arguments:
        arguments["ssl"] = str(arguments["ssl"]).lower() in {"true", "1", "yes"}
    return Redis(**arguments)


def _postgres_address(url: str) -> str:
    """Return `url` without the parameters that only Prisma understands."""
    parts = urlsplit(url)
    if parts.scheme not in POSTGRES_SCHEMES:
        raise UnknownSchemeError
    if host_and_port(url, POSTGRES_PORT) is None and "host" not in parse_qs(parts.query):
        raise ValueError(UNREADABLE)
    return driver_url(url)


def _reason(trouble: BaseException) -> str:
    """Return a reason for an exception, without its own text, which may quote the address."""
    if type(trouble) is redis.ConnectionError:
        trouble = trouble.__cause__ or trouble.__context__ or trouble
    return next((reason for kind, reason in REASONS if isinstance(trouble, kind)), "it cannot be reached")


class UnknownSchemeError(ValueError):
    """A kind of database that LiteLLM does not support."""


# The first entry that matches is used.
REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (redis.AuthenticationError, "it refuses the password, or wants one"),
    (redis.ResponseError, "it refuses PING"),
    (redis.TimeoutError, "it does not answer in time"),
    # Includes a wrong password.
    (asyncpg.InvalidAuthorizationSpecificationError, "it refuses the user or the password"),
    (asyncpg.InvalidCatalogNameError, "it has no such database"),
    (asyncpg.PostgresError, "it refuses SELECT 1"),
    (TimeoutError, "it does not answer in time"),
    (socket.gaierror, "its name leads nowhere"),
    (ssl.SSLError, "its certificate is not accepted"),
    (ConnectionRefusedError, "the connection is refused"),
    (OSError, "it cannot be reached"),
    (UnknownSchemeError, "it is not a postgresql:// address, and LiteLLM takes no other"),
    (ValueError, UNREADABLE),
    (TypeError, UNREADABLE),
    (OverflowError, UNREADABLE),
)
