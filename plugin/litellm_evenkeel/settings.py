"""What an operator may decide: the `evenkeel:` section of the proxy's YAML, and `EVENKEEL_*` variables over it.

Read once, at the edge; whatever needs a setting gets its own part of the tree as an argument.
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
    """The whole tree."""

    rotation: RotationSettings = field(default_factory=RotationSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    budgets: BudgetSettings = field(default_factory=BudgetSettings)
    gc_freeze: GcFreezeSettings = field(default_factory=GcFreezeSettings)
    journal: JournalSettings = field(default_factory=JournalSettings)


def settings(section: object = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the section, which may be missing, and the variables over it; raise SettingsError for what cannot be."""
    if section is not None:
        # What is wrong in the file is told before what is wrong in the environment.
        loader.read(Settings, section, SECTION)
    found = loader.read(Settings, loader.overlaid(Settings, section, environ), SECTION)
    check_consistency(found.rotation, f"{SECTION}.rotation")
    return found


def tables() -> tuple[str, str]:
    """Return the tables of docs/settings.md: all settings, and those of one account."""
    return reference.table(Settings), reference.table(AccountSettings, ("rotation", "accounts", "NAME"))
