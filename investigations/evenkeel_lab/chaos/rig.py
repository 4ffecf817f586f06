"""The rig of all cells: two proxies, with the plugin and without it, on servers that can be made to fail."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import psutil

from evenkeel_lab.chaos.small_disk import small_disk
from evenkeel_lab.chaos.tcp_link import TcpLink
from evenkeel_lab.investigation_spec.arm import Patch
from evenkeel_lab.stack.http_client import client
from evenkeel_lab.stack.litellm import fixtures
from evenkeel_lab.stack.litellm.accounts import mock_settings, unlimited_accounts
from evenkeel_lab.stack.litellm.config import (
    JOURNAL,
    LEAN,
    PROMETHEUS,
    ROTATION,
    Journal,
    Prometheus,
    ProxySpec,
    Rotation,
    merged,
)
from evenkeel_lab.stack.litellm.proxy import HEALTH_CHECK_VARIABLE
from evenkeel_lab.stack.parts import Parts
from evenkeel_lab.stack.sample_requests import ask
from evenkeel_lab.stack.servers.valkey import valkey_replica
from evenkeel_lab.stack.stack import Options, stack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.progress import Steps
    from evenkeel_lab.stack.litellm.proxy import Proxy, Services
    from evenkeel_lab.stack.servers.valkey import Valkey
    from evenkeel_lab.stack.stack import Stack

PLUGIN, STOCK = "plugin", "stock"
ACCOUNTS, WORKERS = 8, 2
WARM_UPS, WARM_UPS_AT_ONCE = 30, 4
TIMEOUT_SECONDS, COOLDOWN_SECONDS = 3.0, 5
# A worker that was killed takes about 25 seconds to boot.
BOOT_SECONDS = 40.0
# Uvicorn notices after this time that a worker was killed if it waited for that worker's answer at the time.
HEALTH_CHECK_SECONDS = 60
LATENCY = {"ttft_ms": "lognormal(median=100, sigma=0.4)", "gap_ms": 5, "length": 16}
# Both proxies retry as often, and cool an account down after one failure, for as long at first.
COMMON: dict[str, Any] = {
    "router_settings": {
        "num_retries": 3,
        "timeout": TIMEOUT_SECONDS,
        "allowed_fails": 0,
        "cooldown_time": COOLDOWN_SECONDS,
    },
    "litellm_settings": {
        "request_timeout": TIMEOUT_SECONDS,
        # LiteLLM 1.108.7 passes the budgets of keys, teams and users with each request. Only those of customers have to
        # be looked up.
        "enable_end_user_cost_tracking_prometheus_only": True,
    },
    "general_settings": {"store_model_in_db": True, "proxy_batch_write_at": 2},
}
PLUGIN_SETTINGS = {
    "litellm_settings": {"callbacks": [ROTATION, PROMETHEUS, JOURNAL, LEAN]},
    "evenkeel": {
        "reload": True,
        "rotation": {
            "shared": {"redis_url": "litellm"},
            "cooldown": {"allowed_failures": 0, "initial": f"{COOLDOWN_SECONDS}s"},
        },
        # Read from Postgres again and again, not from a Redis.
        "budgets": {"ttl": "200ms", "timeout": "200ms"},
    },
}


@dataclass(frozen=True)
class Subject:
    """One of the two proxies."""

    name: str
    proxy: Proxy
    key: str
    """A virtual key with a budget, of a user in a team."""
    customers: tuple[str, ...]
    """End users with a budget, which LiteLLM looks up in the database."""


@dataclass(frozen=True)
class Rig:
    """The running rig."""

    ground: Stack
    parts: Parts
    subjects: tuple[Subject, Subject]
    redis: TcpLink
    postgres: TcpLink
    """The links through which both proxies reach their servers."""
    replica: Valkey
    """The replica of the server behind the link to Redis."""
    disk: Path | None
    """The disk of both proxies' files; `None` if it cannot be filled without harm to others."""
    clock: Path
    """The clocks of both proxies are an hour ahead while this file exists."""
    first_workers: frozenset[int] = frozenset()
    """Process ids of the workers that the rig began with. They have served requests."""
    logged: dict[str, float] = field(default_factory=dict)
    """When words of a fault were last seen in the plugin's log, by the monotonic clock."""
    crashes: list[str] = field(default_factory=list)
    """Stack traces of the plugin's workers that crashed in earlier cells."""

    @property
    def plugin(self) -> Subject:
        """The proxy with the plugin."""
        return self.subjects[0]

    def direct_database_url(self, subject: Subject) -> str:
        """Return the address of a proxy's database, not through the link."""
        parts = urlsplit(subject.proxy.services.database_url)
        credentials, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{credentials}{at}{self.ground.postgres.info.address}"))

    def redis_url_of(self, subject: Subject) -> str:
        """Return the address of a proxy's database in Redis, not through the link."""
        number = urlsplit(subject.proxy.services.redis_url).path
        return urlunsplit(urlsplit(self.ground.valkey.url)._replace(path=number))

    async def failed_attempts(self, since_ns: int) -> list[dict[str, Any]]:
        """Return what the mock provider recorded of requests that it failed since a Unix time in nanoseconds."""
        async with client(seconds=10) as reading:
            journal = (await reading.get(f"{self.ground.mock.url}/_mock/journal")).raise_for_status().text
        lines = map(json.loads, journal.splitlines())
        return [line for line in lines if line["fault"] and line["received_ns"] >= since_ns]

    async def has_reloaded(self) -> bool:
        """Return whether the worker that answers has applied a change of its settings."""
        headers = {"authorization": f"Bearer {self.plugin.proxy.master_key}"}
        async with client(seconds=10, base_url=self.plugin.proxy.url, headers=headers) as reading:
            health = (await reading.get("/evenkeel/settings/health")).raise_for_status().json()
        return bool(health["reloads"])

    async def until_booted(self) -> None:
        """Wait until all workers serve requests: a killed one is started again."""
        while True:
            workers = [worker for each in self.subjects for worker in workers_of(each)]
            booting = [worker for worker in workers if worker.pid not in self.first_workers]
            are_old = all(time.time() - worker.create_time() >= BOOT_SECONDS for worker in booting)
            if len(workers) == WORKERS * len(self.subjects) and are_old:
                return
            await asyncio.sleep(1)

    async def post_faults(self, *entries: dict[str, Any]) -> None:
        """Replace the faults of the mock provider. Without any, it works."""
        async with client(seconds=10) as sending:
            (await sending.post(f"{self.ground.mock.url}/_mock/faults", json=list(entries))).raise_for_status()


@contextlib.asynccontextmanager
async def rig(version: str, steps: Steps) -> AsyncIterator[Rig]:
    """Run the rig during the block."""
    accounts = unlimited_accounts(ACCOUNTS)
    settings = {"latency": LATENCY, **mock_settings(accounts)}
    async with contextlib.AsyncExitStack() as running:
        ground = await running.enter_async_context(stack(Options(mock_settings=settings), steps=steps))
        replica = await running.enter_async_context(valkey_replica(ground.folder, ground.logs, ground.valkey))
        redis = await running.enter_async_context(TcpLink(_port(ground.valkey.info.address)))
        postgres = await running.enter_async_context(TcpLink(_port(ground.postgres.info.address)))

        disk = ground.folder / "small-disk"
        is_small = await running.enter_async_context(small_disk(disk))
        clock = ground.folder / "clock"

        def through_links(services: Services) -> Services:
            return replace(
                services, redis_url=redis.url(services.redis_url), database_url=postgres.url(services.database_url)
            )

        subjects = []
        for number, name in enumerate((PLUGIN, STOCK), 1):
            own = name == PLUGIN
            spec = ProxySpec(
                version,
                prometheus=Prometheus.EVENKEEL if own else Prometheus.STOCK,
                rotation=Rotation.EVENKEEL if own else Rotation.OFF,
                journal=Journal.SQLITE if own else Journal.OFF,
                settings=merged(COMMON, PLUGIN_SETTINGS) if own else COMMON,
                accounts=accounts,
                workers=WORKERS,
                keep_alive=600,
                env={
                    "CLOCK_OF_PROXY": str(clock),
                    HEALTH_CHECK_VARIABLE: str(HEALTH_CHECK_SECONDS),
                    "PYTHONFAULTHANDLER": "1",
                },
                patch=Patch.JUMPING_CLOCK,
            )
            proxy = await running.enter_async_context(
                ground.proxy(spec, name=name, database_number=number, change=through_links, folder=disk)
            )
            entities = await fixtures.create(proxy)
            await ask(proxy.url, entities.key, proxy.model, times=WARM_UPS, at_once=WARM_UPS_AT_ONCE)
            subjects.append(Subject(name, proxy, entities.key, entities.customers))
        infos = [*ground.service_infos, *(subject.proxy.info for subject in subjects)]
        parts = await running.enter_async_context(Parts(infos))
        first_workers = frozenset(worker.pid for subject in subjects for worker in workers_of(subject))
        pair, own_disk = (subjects[0], subjects[1]), disk if is_small else None
        yield Rig(ground, parts, pair, redis, postgres, replica, own_disk, clock, first_workers)


def workers_of(subject: Subject) -> list[psutil.Process]:
    """Return the workers of a proxy, which its main process starts."""
    children = psutil.Process(subject.proxy.info.pid).children()
    return [child for child in children if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        command = " ".join(process.cmdline())
        return "multiprocessing" in command and "resource_tracker" not in command
    return False


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
