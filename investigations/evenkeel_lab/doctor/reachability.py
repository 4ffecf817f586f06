"""Whether it answers. Each question has a time limit, and an answer that holds no secret: None, or why not."""

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
    """Threads that nobody waits for at the end: the lookup of a name cannot be cancelled, and can take a minute."""

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Run it in a thread of its own."""
        future: Future[R] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as trouble:  # noqa: BLE001 - it belongs to whoever awaits the future
                future.set_exception(trouble)
            else:
                future.set_result(result)

        threading.Thread(target=run, daemon=True).start()
        return future


async def port_answers(host: str, port: int, seconds: float = PORT_SECONDS) -> str | None:
    """Try to connect over TCP."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, ValueError, OverflowError) as trouble:
        return _words(trouble)
    writer.close()
    return None


async def redis_answers(target: RedisTarget) -> str | None:
    """Send a PING, with the password if there is one."""
    try:
        if target.port_only:
            return await port_answers(*target.host_and_port)
        async with asyncio.timeout(2 * REDIS_SECONDS), _redis_client(target.options) as client:
            await client.ping()
    except (redis.RedisError, OSError, ValueError, TypeError, OverflowError) as trouble:
        return _words(trouble)
    return None


async def database_answers(url: str) -> str | None:
    """Send a SELECT 1."""
    try:
        plain = _postgres_address(url)
        async with asyncio.timeout(2 * DATABASE_SECONDS):
            connection = await asyncpg.connect(plain, timeout=DATABASE_SECONDS)
            try:
                await connection.fetchval("SELECT 1", timeout=DATABASE_SECONDS)
            finally:
                await connection.close(timeout=1)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, ValueError) as trouble:
        return _words(trouble)
    return None


async def output_of(
    argv: Sequence[str], environment: Mapping[str, str], seconds: float, *, text: str = ""
) -> tuple[int | None, str]:
    """Run a program; return its exit code and all it wrote. None is the code of one that had to be ended."""
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
    """Make a client that gives up soon."""
    given = dict(options)
    url = given.pop("url", None)
    # The older protocol, which any Redis speaks and which needs no exchange before the password.
    given |= {"protocol": 2, "socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
    # The client would retry, and with that wait longer than it was told to.
    given["retry"] = Retry(NoBackoff(), 0)
    if url is not None:
        if host_and_port(url, REDIS_PORT) is None and not url.startswith("unix:"):
            raise ValueError(UNREADABLE)
        return Redis.from_url(url, **given)
    given |= {name: int(given[name]) for name in ("port", "db") if name in given}
    if "ssl" in given:
        given["ssl"] = str(given["ssl"]).lower() in {"true", "1", "yes"}
    return Redis(**given)


def _postgres_address(url: str) -> str:
    """Return the URL without what only Prisma understands."""
    parts = urlsplit(url)
    if parts.scheme not in POSTGRES_SCHEMES:
        raise UnknownSchemeError
    if host_and_port(url, POSTGRES_PORT) is None and "host" not in parse_qs(parts.query):
        raise ValueError(UNREADABLE)
    return driver_url(url)


def _words(trouble: BaseException) -> str:
    """Put an exception in words of our own: its text may quote the address."""
    if type(trouble) is redis.ConnectionError:
        trouble = trouble.__cause__ or trouble.__context__ or trouble
    return next((words for kind, words in WORDS if isinstance(trouble, kind)), "it cannot be reached")


class UnknownSchemeError(ValueError):
    """A database that LiteLLM does not know."""


# The first that fits counts.
WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (redis.AuthenticationError, "it refuses the password, or wants one"),
    (redis.ResponseError, "it refuses PING"),
    (redis.TimeoutError, "it does not answer in time"),
    # A wrong password is one of these.
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
