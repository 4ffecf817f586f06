"""Everything that can be told about a configuration by reading it. No file, network or process is touched here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.callbacks import Modules, callbacks
from evenkeel_lab.doctor.finding import Finding, ok, warning
from evenkeel_lab.doctor.journal import Folder, journal
from evenkeel_lab.doctor.plugin_section import section
from evenkeel_lab.doctor.rotation import rotation
from evenkeel_lab.doctor.routing import account_findings, deployments, retries
from evenkeel_lab.doctor.settings import master_key, references, worker_count, workers
from evenkeel_lab.doctor.stores import redis_targets, unusable_database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.doctor.config_file import ProxyConfig


@dataclass(frozen=True)
class Facts:
    """What has to be known about the world besides the configuration and the environment."""

    modules: Modules = field(default_factory=Modules)
    workers: int | None = None
    """How many the user says there are."""
    multiprocess_folder_usable: bool | None = None
    journal_folder: Folder | None = None
    """Where the journal's file would be, if it has one."""


def check_wiring(config: ProxyConfig, environment: Mapping[str, str], facts: Facts) -> list[Finding]:
    """Check a configuration; the findings come in a fixed order."""
    count = worker_count(environment, facts.workers)
    found = list(config.problems)
    if not any(problem.check == "config" for problem in found):
        files = len(config.files)
        found.insert(0, ok("config", "read" + (f", with {files - 1} included" if files > 1 else ""), config.path.name))
    return [
        *found,
        *references(config, environment),
        master_key(config, environment),
        *callbacks(config, facts.modules),
        workers(config, environment, count, folder_usable=facts.multiprocess_folder_usable),
        *account_findings(config, environment),
        *retries(config, environment),
        *section(config, environment),
        *rotation(config, environment, count or 1),
        *journal(config, environment, facts.journal_folder),
        *_shared_state(config, environment, count or 1),
        *unusable_database(config),
    ]


def _shared_state(config: ProxyConfig, environment: Mapping[str, str], count: int) -> list[Finding]:
    """Check that several workers can know what the others know."""
    targets, found = redis_targets(config, environment)
    if targets or found:
        return found
    groups = [deployment.group for deployment in deployments(config)]
    if count > 1 and len(groups) > len(set(groups)):
        return [
            warning(
                "redis",
                f"none is named, so each of the {count} workers has cooldowns, usage and limits of its own",
                config.path.name,
                hint="Set router_settings.redis_url.",
            )
        ]
    return [ok("redis", "none is named", config.path.name)]
