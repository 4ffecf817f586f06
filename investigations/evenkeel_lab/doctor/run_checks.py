"""Runs all checks in parallel."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel_lab.doctor import reachability
from evenkeel_lab.doctor.callbacks import Modules, entries
from evenkeel_lab.doctor.finding import Finding, error, ok, warning
from evenkeel_lab.doctor.journal import journal_database, journal_folder
from evenkeel_lab.doctor.machine import check_machine
from evenkeel_lab.doctor.plugin_names import file_beside, names_in, plugin_modules
from evenkeel_lab.doctor.rotation import rotation_targets
from evenkeel_lab.doctor.settings import MULTIPROCESS_VARIABLES
from evenkeel_lab.doctor.static_checks import Facts, check_config
from evenkeel_lab.doctor.stores import (
    POSTGRES_PORT,
    RedisTarget,
    database_url,
    printable_address,
    redis_targets,
    unusable_database,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.doctor.config_file import ProxyConfig


async def run_checks(
    config: ProxyConfig | None, environment: Mapping[str, str], *, workers: int | None = None
) -> list[Finding]:
    """Check the machine and, unless it is `None`, the configuration of a proxy. The order of findings is fixed."""
    asyncio.get_running_loop().set_default_executor(reachability.DaemonThreads())
    if config is None:
        return await check_machine(environment)
    machine, answers = await asyncio.gather(check_machine(environment), reachable(config, environment))
    return [*machine, *check_config(config, environment, facts(config, environment, workers)), *answers]


def facts(config: ProxyConfig, environment: Mapping[str, str], workers: int | None = None) -> Facts:
    """Return the facts about this machine that `check_config` needs."""
    folder = config.path.absolute().parent
    beside = {entry.module: file_beside(folder, entry.module) for entry in entries(config)}
    try:
        version = importlib.metadata.version("litellm-evenkeel")
    except importlib.metadata.PackageNotFoundError:
        version = "not installed"
    shared = next((environment[name] for name in MULTIPROCESS_VARIABLES if environment.get(name)), None)
    return Facts(
        modules=Modules(
            plugin=plugin_modules(),
            beside={module: names_in(file) for module, file in beside.items() if file},
            version=version,
        ),
        workers=workers,
        multiprocess_folder_usable=Path(shared).is_dir() and os.access(shared, os.W_OK | os.X_OK) if shared else None,
        journal_folder=journal_folder(config, environment),
    )


async def reachable(config: ProxyConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Check that each Redis and each database of the proxy answers."""
    targets, _ = redis_targets(config, environment)
    targets += rotation_targets(config, environment)
    checks = [_redis(target) for target in targets]
    if not unusable_database(config):  # `check_config` reports it
        checks.append(_database(*database_url(config, environment)))
    own = journal_database(config, environment)
    if own is not None:
        checks.append(_postgres("journal", *own))
    return list(await asyncio.gather(*checks))


async def _redis(target: RedisTarget) -> Finding:
    trouble = await reachability.redis_problem(target)
    what = f"{target.name}, {target.address}"
    if trouble is None:
        return ok("redis", f"{what}: {'its port answers' if target.port_only else 'it answers'}", target.where)
    make = error if target.required else warning
    return make("redis", f"{what}: {trouble}", target.where, hint="Start it, or mend its address and password.")


async def _database(url: str | None, where: str) -> Finding:
    if url is None:
        return ok("database", "none is named", where)
    return await _postgres("database", url, where)


async def _postgres(check: str, url: str, where: str) -> Finding:
    trouble = await reachability.database_problem(url)
    if trouble is None:
        return ok(check, f"{printable_address(url, POSTGRES_PORT)} answers", where)
    return error(
        check,
        f"{printable_address(url, POSTGRES_PORT)}: {trouble}",
        where,
        hint="Start it, or mend its address and password.",
    )
