"""Settings of the plugin: the `evenkeel:` section of the proxy's YAML, and `EVENKEEL_*` variables that override it.

They are read once, where a callback is created. Every other part gets its own section as an argument.
"""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003 - read by annotation
from typing import Any, ClassVar

from pydantic import Field

from litellm_evenkeel.budgets.settings import BudgetSettings
from litellm_evenkeel.gc_freeze import GcFreezeSettings
from litellm_evenkeel.journal.settings import JournalSettings
from litellm_evenkeel.lean.settings import LeanSettings
from litellm_evenkeel.metrics.settings import MetricsSettings
from litellm_evenkeel.rotation.model.account import AccountSettings
from litellm_evenkeel.rotation.settings import RotationSettings, check_consistency
from litellm_evenkeel.settings_schema import loader, reference
from litellm_evenkeel.settings_schema.types import SettingsModel, Switch

SECTION = "evenkeel"


class Settings(SettingsModel):
    """All settings, one field for each section."""

    RENAMED: ClassVar[Mapping[str, str]] = {"collector": "gc_freeze"}

    reload: Switch = False
    """Whether workers apply changes of these settings in the YAML while they run: all changes of a file, or none."""
    rotation: RotationSettings = Field(default_factory=RotationSettings)
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    budgets: BudgetSettings = Field(default_factory=BudgetSettings)
    gc_freeze: GcFreezeSettings = Field(default_factory=GcFreezeSettings)
    journal: JournalSettings = Field(default_factory=JournalSettings)
    lean: LeanSettings = Field(default_factory=LeanSettings)


# What most people change first.
FIRST = (
    "rotation.strategy",
    "rotation.queue_timeout",
    "rotation.shared.redis_url",
    "rotation.accounts",
    "metrics.max_end_users",
    "journal.store",
)
GROUPS = {
    "General": "",
    "Rotation": "rotation",
    "Cooldowns": "rotation.cooldown",
    "Session affinity": "rotation.affinity",
    "Shared limits": "rotation.shared",
    "Prometheus metrics": "metrics",
    "Budgets": "budgets",
    "Garbage collection": "gc_freeze",
    "Request journal": "journal",
    "Less work for each request": "lean",
}


def settings(section: object = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from `section` (or defaults) and `environ`. Raise SettingsError for an invalid one."""
    if section is not None:
        # Errors in the file are reported before errors in the environment.
        loader.load(Settings, section, SECTION)
    loaded = loader.load(Settings, section, SECTION, environ)
    check_consistency(loaded.rotation, f"{SECTION}.rotation")
    return loaded


def tables() -> dict[str, str]:
    """Return the tables of docs/settings.md by their titles: the first settings, each section, and one account's."""
    names = [leaf.name for leaf in loader.leaves(Settings)]
    sections = {
        title: reference.table(Settings, only=tuple(name for name in names if name.rpartition(".")[0] == section))
        for title, section in GROUPS.items()
    }
    account = reference.table(AccountSettings, ("rotation", "accounts", "NAME"))
    return {"What most people change first": reference.table(Settings, only=FIRST), **sections, "One account": account}


def schema() -> dict[str, Any]:
    """Return the JSON schema of a proxy's configuration that has the section."""
    return reference.schema(Settings, SECTION)
