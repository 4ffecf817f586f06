"""The whole stack: every part a proxy stands on, brought up side by side, then proxies on top of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.progress import Silent
from evenkeel_lab.stack.folders import cache_in_use, log_folder, stack_folder
from evenkeel_lab.stack.litellm.engine import find_engine
from evenkeel_lab.stack.litellm.environment import environment, plugin_folder
from evenkeel_lab.stack.litellm.migrations import completion, migrate, require_completed
from evenkeel_lab.stack.litellm.path_stubs import decoys
from evenkeel_lab.stack.litellm.proxy import Services, proxy
from evenkeel_lab.stack.packages.node import find_node
from evenkeel_lab.stack.servers.mock import mock
from evenkeel_lab.stack.servers.postgres import ExternalPostgres, Postgres, connect
from evenkeel_lab.stack.servers.valkey import empty, external_valkey, valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.litellm.config import Subject
    from evenkeel_lab.stack.litellm.engine import Engine
    from evenkeel_lab.stack.litellm.environment import Environment
    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.packages.node import Node
    from evenkeel_lab.stack.servers.mock import Mock
    from evenkeel_lab.stack.servers.valkey import Valkey
    from evenkeel_lab.stack.service_info import Part


T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What may be asked of a stack, apart from its proxies."""

    database_url: str | None = None
    redis_url: str | None = None
    allow_migrate: bool = False
    mock_settings: Mapping[str, Any] = field(default_factory=dict)
    """What the mock's own file would hold."""
    mock_workers: int = 1

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ, *, allow_migrate: bool = False) -> Options:
        """Read which servers the user brings along."""
        return cls(env.get("DATABASE_URL") or None, env.get("REDIS_URL") or None, allow_migrate)

    def with_mock(self, settings: Mapping[str, Any], workers: int) -> Options:
        """Return the same with another provider."""
        return replace(self, mock_settings=settings, mock_workers=workers)


@dataclass(frozen=True)
class Stack:
    """A running stack."""

    folder: Path
    logs: Path
    options: Options
    steps: Steps
    postgres: Postgres | ExternalPostgres
    valkey: Valkey
    mock: Mock
    node: Node
    engine: Engine
    plugin: Path
    _databases: dict[str, asyncio.Task[str]] = field(default_factory=dict)

    @property
    def parts(self) -> list[Part]:
        """The parts below the proxies."""
        return [self.postgres.part, self.valkey.part, self.mock.part]

    async def services(self, version: str) -> Services:
        """Return what a proxy of a version stands on: its environment, and a database with its schema."""
        with self.steps.step(f"LiteLLM {version}, its environment"):
            made = await environment(version, self.node, self.engine, self.logs / "setup.log")
        database = self._databases.get(version)
        if database is None:
            database = asyncio.create_task(self._database(made))
            self._databases[version] = database
        return Services(
            mock_url=self.mock.url,
            database_url=await database,
            redis_url=self.valkey.url,
            environment=made,
            node=self.node,
            engine=self.engine,
            plugin=self.plugin,
            decoys=await decoys(),
        )

    @contextlib.asynccontextmanager
    async def proxy(
        self, subject: Subject, *, name: str = "litellm", port: int | None = None, apart: int | None = None
    ) -> AsyncIterator[Proxy]:
        """Run a proxy on this stack; one that is measured has a number of its own, and so nothing that others share."""
        services = await self.services(subject.litellm)
        if apart is not None:
            services = await self._apart(services, apart)
        async with contextlib.AsyncExitStack() as running:
            with self.steps.step(f"LiteLLM {subject.litellm}, booting"):
                started = await running.enter_async_context(
                    proxy(services, subject, self.folder, self.logs, port=port, name=name)
                )
            yield started

    async def _apart(self, services: Services, number: int) -> Services:
        """Return services with an empty database and Valkey database of one proxy's own, and its probe."""
        if not isinstance(self.postgres, Postgres) or self.options.redis_url:
            raise WrongUse("Subjects that are measured share no servers.", hint="Unset DATABASE_URL and REDIS_URL.")
        parts = urlsplit(services.database_url)
        template, own = parts.path.lstrip("/"), f"{parts.path.lstrip('/')}_{number}"
        connection = await connect(self.postgres.url)
        try:
            await connection.execute(f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)')
            await connection.execute(f'CREATE DATABASE "{own}" TEMPLATE "{template}"')
        finally:
            await connection.close()
        redis_url = urlunsplit(urlsplit(services.redis_url)._replace(path=f"/{number}"))
        await empty(redis_url)
        return replace(
            services,
            database_url=urlunsplit(parts._replace(path=f"/{own}")),
            redis_url=redis_url,
            # Not by the name: one proxy's may begin with another's.
            lag=self.folder / f"lag-{number}",
        )

    async def _database(self, made: Environment) -> str:
        """Return a database with the schema of a version: one for each version, or the user's only one."""
        url = self.postgres.url
        owned = isinstance(self.postgres, Postgres)
        if owned:
            name = "litellm_" + re.sub(r"\W", "_", made.version)
            connection = await connect(url)
            try:
                await connection.execute(f'CREATE DATABASE "{name}"')
            finally:
                await connection.close()
            url = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        with self.steps.step(f"LiteLLM {made.version}, its database schema"):
            completed = completion(made.difference, made.version)
            if not owned:
                await require_completed(url, completed)
                completed = []
            await migrate(url, made.migrations, allowed=owned or self.options.allow_migrate, completed=completed)
        return url


@contextlib.asynccontextmanager
async def stack(options: Options, *, steps: Steps | None = None) -> AsyncIterator[Stack]:
    """Bring up everything below the proxies; take it down again whatever happens."""
    steps = steps or Silent()
    async with contextlib.AsyncExitStack() as running:
        running.enter_context(cache_in_use())
        folder = await running.enter_async_context(stack_folder())
        logs = log_folder()

        async def up(what: str, part: AbstractAsyncContextManager[T]) -> T:
            with steps.step(what):
                return await running.enter_async_context(part)

        async def tools() -> tuple[Node, Engine]:
            with steps.step("Node and the Prisma engine"):
                node = await find_node(logs / "setup.log")
                return node, await find_engine(node, logs / "setup.log")

        server: AbstractAsyncContextManager[Postgres | ExternalPostgres] = Postgres(folder, logs)
        if options.database_url:
            server = ExternalPostgres(options.database_url)
        redis = external_valkey(options.redis_url) if options.redis_url else valkey(folder, logs)
        async with together() as group:
            database = group.create_task(up("Postgres", server))
            cache = group.create_task(up("Valkey", redis))
            provider = group.create_task(
                up(
                    "the mock provider",
                    mock(folder, logs, settings=options.mock_settings, workers=options.mock_workers),
                )
            )
            found = group.create_task(tools())
            plugin = group.create_task(plugin_folder())
        node, engine = found.result()
        yield Stack(
            folder=folder,
            logs=logs,
            options=options,
            steps=steps,
            postgres=database.result(),
            valkey=cache.result(),
            mock=provider.result(),
            node=node,
            engine=engine,
            plugin=plugin.result(),
        )


@contextlib.asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """Run tasks side by side; if one fails, the others are stopped and its own error is raised, not a group."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
