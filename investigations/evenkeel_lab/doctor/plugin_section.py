"""Whether the plugin understands what is written for it: without that, no proxy starts that names any part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.callbacks import OURS, entries
from evenkeel_lab.doctor.config_file import resolved
from evenkeel_lab.doctor.finding import Finding, error, ok
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings import SECTION, Settings, settings

if TYPE_CHECKING:
    from evenkeel_lab.doctor.config_file import ProxyConfig


def section(config: ProxyConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Check it, if anything is named that reads it."""
    if not any(entry.name in OURS for entry in entries(config)):
        return []
    where = config.where(SECTION)
    try:
        settings(_told(config, environment), environment)
    except SettingsError as wrong:
        return [error("settings", str(wrong).rstrip("."), where, hint="The proxy does not start before. Mend it.")]
    return [ok("settings", "what is written for the plugin is understood", where)]


def understood(config: ProxyConfig, environment: Mapping[str, str], callback: str) -> Settings | None:
    """Return what is written, if a callback reads it; None as well if it is not understood, which is told above."""
    if not any(entry.name == callback for entry in entries(config)):
        return None
    try:
        return settings(_told(config, environment), environment)
    except SettingsError:
        return None


def _told(config: ProxyConfig, environment: Mapping[str, str]) -> object:
    """Return what is written, as the plugin is told it."""
    told = resolved(config.values.get(SECTION), environment)
    # What a secret manager knows is not asked here, and may well be there.
    return _without_nothing(told) if config.section("general_settings").get("key_management_system") else told


def _without_nothing(told: object) -> object:
    if not isinstance(told, Mapping):
        return told
    return {name: _without_nothing(one) for name, one in told.items() if one is not None}
