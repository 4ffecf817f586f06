"""Checks that need only the text of a configuration. They use no file, no network and no process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.callbacks import Modules, callbacks
from evenkeel_lab.doctor.finding import Finding, ok, warning
from evenkeel_lab.doctor.gains import gains
from evenkeel_lab.doctor.journal import JournalFolder, journal
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
    """Facts that checks need in addition to the configuration and the environment."""

    modules: Modules = field(default_factory=Modules)
    workers: int | None = None
    """The option `--workers`; `None` if it is not given."""
    multiprocess_folder_usable: bool | None = None
    journal_folder: JournalFolder | None = None
    """`None` if the journal has no file."""


def check_config(config: ProxyConfig, environment: Mapping[str, str], facts: Facts) -> list[Finding]:
    """Check a configuration. The order of findings is fixed."""
    count = worker_count(environment, facts.workers)
    findings = list(config.problems)
    if not any(problem.check == "config" for problem in findings):
        files = len(config.files)
        findings.insert(
            0, ok("config", "read" + (f", with {files - 1} included" if files > 1 else ""), config.path.name)
        )
    return [
        *findings,
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
        *gains(config, environment),
    ]


def _shared_state(config: ProxyConfig, environment: Mapping[str, str], count: int) -> list[Finding]:
    """Check that several workers can share their state."""
    targets, findings = redis_targets(config, environment)
    if targets or findings:
        return findings
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
