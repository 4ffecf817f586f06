"""Check of the plugin's settings. If they are invalid, a proxy with any callback of the plugin does not start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenkeel_lab.doctor.callbacks import OURS, entries
from evenkeel_lab.doctor.config_file import resolve_values
from evenkeel_lab.doctor.finding import Finding, error, ok
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings import SECTION, Settings, settings

if TYPE_CHECKING:
    from evenkeel_lab.doctor.config_file import Key, ProxyConfig


def section(config: ProxyConfig, environment: Mapping[str, str]) -> list[Finding]:
    """Check the plugin's settings, if a callback of the plugin is loaded."""
    if not any(entry.name in OURS for entry in entries(config)):
        return []
    where = config.where(SECTION)
    try:
        settings(_values(config, environment), environment)
    except SettingsError as wrong:
        return [
            error(
                "settings",
                problem.rstrip("."),
                config.where(*keys_of(problem, config.values)),
                hint="The proxy does not start before. Mend it.",
            )
            for problem in wrong.problems
        ]
    return [ok("settings", "what is written for the plugin is understood", where)]


def keys_of(problem: str, values: Mapping[str, Any]) -> list[Key]:
    """Return the keys of the setting that a problem is about, as far as the configuration has them."""
    path, _, rest = problem.partition(": ")
    unknown = re.match(r"(?:unknown setting )?'([^']+)'", rest)
    keys: list[Key] = []
    below: object = values
    remaining = path + (f".{unknown[1]}" if unknown else "")
    while remaining:
        if isinstance(below, Mapping):
            # Names of accounts may contain dots, so the longest key wins.
            names = {str(name): name for name in below}
            key = max((name for name in names if _begins(remaining, name)), key=len, default=None)
            if key is None:
                break
            below, remaining = below[names[key]], remaining[len(key) :].lstrip(".")
            keys.append(names[key])
        elif isinstance(below, list) and (number := re.match(r"\[(\d+)\]\.?", remaining)):
            index = int(number[1]) - 1
            if not 0 <= index < len(below):
                break
            below, remaining = below[index], remaining[number.end() :]
            keys.append(index)
        else:
            break
    return keys or [SECTION]


def _begins(path: str, name: str) -> bool:
    return path == name or path.startswith((f"{name}.", f"{name}["))


def plugin_settings(config: ProxyConfig, environment: Mapping[str, str], callback: str) -> Settings | None:
    """Return the plugin's settings, or `None` if `callback` is not loaded or if they are invalid."""
    if not any(entry.name == callback for entry in entries(config)):
        return None
    try:
        return settings(_values(config, environment), environment)
    except SettingsError:
        return None


def _values(config: ProxyConfig, environment: Mapping[str, str]) -> object:
    """Return the section as the plugin receives it."""
    values = resolve_values(config.values.get(SECTION), environment)
    # The doctor does not use secret managers, so a value without content may be in one.
    return _without_none(values) if config.section("general_settings").get("key_management_system") else values


def _without_none(values: object) -> object:
    if not isinstance(values, Mapping):
        return values
    return {name: _without_none(value) for name, value in values.items() if value is not None}
