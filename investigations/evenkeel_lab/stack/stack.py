"""A stack: the services that a proxy needs, started in parallel, and proxies on top of them."""

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
from evenkeel_lab.stack.litellm.path_stubs import stub_folder
from evenkeel_lab.stack.litellm.proxy import Services, proxy
from evenkeel_lab.stack.packages.node import find_node
from evenkeel_lab.stack.servers.mock import mock
from evenkeel_lab.stack.servers.postgres import ExternalPostgres, Postgres, connect
from evenkeel_lab.stack.servers.valkey import empty, external_valkey, valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.litellm.config import ProxySpec
    from evenkeel_lab.stack.litellm.engine import Engine
    from evenkeel_lab.stack.litellm.environment import Environment
    from evenkeel_lab.stack.litellm.proxy import Proxy
    from evenkeel_lab.stack.packages.node import Node
    from evenkeel_lab.stack.servers.mock import Mock
    from evenkeel_lab.stack.servers.valkey import Valkey
    from evenkeel_lab.stack.service_info import ServiceInfo


T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """Options of a stack: servers of the user's own, and the mock provider."""

    database_url: str | None = None
    redis_url: str | None = None
    allow_migrate: bool = False
    mock_settings: Mapping[str, Any] = field(default_factory=dict)
    """Content of the mock's settings file."""
    mock_workers: int = 1

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ, *, allow_migrate: bool = False) -> Options:
        """Return options with the servers that DATABASE_URL and REDIS_URL name."""
        return cls(env.get("DATABASE_URL") or None, env.get("REDIS_URL") or None, allow_migrate)

    def with_mock(self, settings: Mapping[str, Any], workers: int) -> Options:
        """Return a copy with other settings and worker processes of the mock provider."""
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
    def service_infos(self) -> list[ServiceInfo]:
        """The services below the proxies."""
        return [self.postgres.info, self.valkey.info, self.mock.info]

    async def services(self, version: str) -> Services:
        """Return the services for proxies of a LiteLLM `version`: its environment, and a database with its schema."""
        with self.steps.step(f"LiteLLM {version}, its environment"):
            installed = await environment(version, self.node, self.engine, self.logs / "setup.log")
        database = self._databases.get(version)
        if database is None:
            database = asyncio.create_task(self._database(installed))
            self._databases[version] = database
        return Services(
            mock_url=self.mock.url,
            database_url=await database,
            redis_url=self.valkey.url,
            environment=installed,
            node=self.node,
            engine=self.engine,
            plugin=self.plugin,
            path_stubs=await stub_folder(),
        )

    @contextlib.asynccontextmanager
    async def proxy(
        self,
        spec: ProxySpec,
        *,
        name: str = "litellm",
        port: int | None = None,
        database_number: int | None = None,
        change: Callable[[Services], Services] = lambda services: services,
        folder: Path | None = None,
    ) -> AsyncIterator[Proxy]:
        """Run a proxy on this stack, with services that `change` may alter, and its files in `folder`.

        With `database_number`, the proxy is measured: it has an empty Postgres database and Valkey database of its own.
        """
        services = await self.services(spec.litellm)
        if database_number is not None:
            services = await self._with_own_databases(services, database_number)
        async with contextlib.AsyncExitStack() as running:
            with self.steps.step(f"LiteLLM {spec.litellm}, booting"):
                started = await running.enter_async_context(
                    proxy(change(services), spec, self.folder, self.logs, home=folder, port=port, name=name)
                )
            yield started

    async def _with_own_databases(self, services: Services, number: int) -> Services:
        """Return `services` with an empty Postgres and Valkey database of one proxy's own, and with its probe."""
        if not isinstance(self.postgres, Postgres) or self.options.redis_url:
            raise WrongUse(
                "Proxies that are measured cannot use servers of your own.", hint="Unset DATABASE_URL and REDIS_URL."
            )
        address = urlsplit(services.database_url)
        template = address.path.lstrip("/")
        own = f"{template}_{number}"
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
            database_url=urlunsplit(address._replace(path=f"/{own}")),
            redis_url=redis_url,
            # Not by the name: the name of one proxy may begin with the name of another.
            lag=self.folder / f"lag-{number}",
        )

    async def _database(self, installed: Environment) -> str:
        """Return the URL of a database with the schema of `installed`: a new one, or that of DATABASE_URL."""
        url = self.postgres.url
        is_embedded = isinstance(self.postgres, Postgres)
        if is_embedded:
            name = "litellm_" + re.sub(r"\W", "_", installed.version)
            connection = await connect(url)
            try:
                await connection.execute(f'CREATE DATABASE "{name}"')
            finally:
                await connection.close()
            url = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        with self.steps.step(f"LiteLLM {installed.version}, its database schema"):
            completed = completion(installed.difference, installed.version)
            if not is_embedded:
                await require_completed(url, completed)
                completed = []
            await migrate(
                url, installed.migrations, allowed=is_embedded or self.options.allow_migrate, completed=completed
            )
        return url


@contextlib.asynccontextmanager
async def stack(options: Options, *, steps: Steps | None = None) -> AsyncIterator[Stack]:
    """Run the services below the proxies, and stop them at the end, also after an error."""
    steps = steps or Silent()
    async with contextlib.AsyncExitStack() as running:
        running.enter_context(cache_in_use())
        folder = await running.enter_async_context(stack_folder())
        logs = log_folder()

        async def start(what: str, service: AbstractAsyncContextManager[T]) -> T:
            with steps.step(what):
                return await running.enter_async_context(service)

        async def find_tools() -> tuple[Node, Engine]:
            with steps.step("Node and the Prisma engine"):
                node = await find_node(logs / "setup.log")
                return node, await find_engine(node, logs / "setup.log")

        server: AbstractAsyncContextManager[Postgres | ExternalPostgres] = Postgres(folder, logs)
        if options.database_url:
            server = ExternalPostgres(options.database_url)
        redis = external_valkey(options.redis_url) if options.redis_url else valkey(folder, logs)
        async with task_group() as group:
            database = group.create_task(start("Postgres", server))
            cache = group.create_task(start("Valkey", redis))
            provider = group.create_task(
                start(
                    "the mock provider",
                    mock(folder, logs, settings=options.mock_settings, workers=options.mock_workers),
                )
            )
            tools = group.create_task(find_tools())
            plugin = group.create_task(plugin_folder())
        node, engine = tools.result()
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
async def task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Run tasks in parallel. If a task fails, cancel the others and raise its error alone instead of a group."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
