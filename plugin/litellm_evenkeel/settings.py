"""Settings of the plugin: the `evenkeel:` section of the proxy's YAML, and `EVENKEEL_*` variables that override it.

They are read once, where a callback is created. Every other part gets its own section as an argument.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from litellm_evenkeel.budgets.settings import BudgetSettings
from litellm_evenkeel.gc_freeze import GcFreezeSettings
from litellm_evenkeel.journal.settings import JournalSettings
from litellm_evenkeel.metrics.settings import MetricsSettings
from litellm_evenkeel.rotation.model.account import AccountSettings
from litellm_evenkeel.rotation.settings import RotationSettings, check_consistency
from litellm_evenkeel.settings_schema import loader, reference

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTION = "evenkeel"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, one field for each section."""

    rotation: RotationSettings = field(default_factory=RotationSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    budgets: BudgetSettings = field(default_factory=BudgetSettings)
    gc_freeze: GcFreezeSettings = field(default_factory=GcFreezeSettings)
    journal: JournalSettings = field(default_factory=JournalSettings)


def settings(section: object = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from `section` (or defaults) and `environ`. Raise SettingsError for an invalid one."""
    if section is not None:
        # Errors in the file are reported before errors in the environment.
        loader.read(Settings, section, SECTION)
    found = loader.read(Settings, loader.overlaid(Settings, section, environ), SECTION)
    check_consistency(found.rotation, f"{SECTION}.rotation")
    return found


def tables() -> tuple[str, str]:
    """Return the tables of docs/settings.md: all settings, and the settings of one account."""
    return reference.table(Settings), reference.table(AccountSettings, ("rotation", "accounts", "NAME"))
