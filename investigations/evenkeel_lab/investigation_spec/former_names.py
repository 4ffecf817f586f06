"""Former names in summaries: settings of the plugin that have been renamed, or have become patches since.

A summary contains the investigation as it was measured. It is read with the current names, so that it can be compared
with the file that is run today.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenkeel_lab.investigation_spec.arm import Patch
from litellm_evenkeel.settings import SECTION, Settings
from litellm_evenkeel.settings_schema.types import SettingsModel

CALLBACKS = {"litellm_evenkeel.proxy.collector": "litellm_evenkeel.proxy.gc_freeze"}
WORDS: Mapping[tuple[str, ...], Mapping[str, str]] = {("rotation", "shared", "redis_url"): {"proxy": "litellm"}}
"""Values of settings that have been renamed."""
PATCHES: Mapping[tuple[str, str, object], Patch] = {
    ("rotation", "snapshot_ttl", 0): Patch.PLUGIN_FRESH_SNAPSHOTS,
    ("rotation", "route_cache", False): Patch.PLUGIN_NO_CANDIDATE_CACHE,
    ("metrics", "ablation", "early_return"): Patch.PLUGIN_EARLY_RETURN,
}
"""Settings that only investigations had a use for, and the patches in their place."""


def with_current_names(investigation: Any) -> Any:
    """Return the document of an investigation with the current names of settings in its arms."""
    if not isinstance(investigation, Mapping) or not isinstance(investigation.get("arms"), Mapping):
        return investigation
    arms = {name: _arm(arm) if isinstance(arm, Mapping) else arm for name, arm in investigation["arms"].items()}
    return {**investigation, "arms": arms}


def _arm(arm: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = arm.get("settings")
    if not isinstance(settings, Mapping):
        return arm
    settings = {**settings}
    patch = arm.get("patch", Patch.NONE)
    if isinstance(settings.get(SECTION), Mapping):
        section = _renamed(settings[SECTION], Settings, ())
        for (part, name, value), replacement in PATCHES.items():
            # `0 == False`, but they are values of different settings.
            if name in section.get(part, {}) and section[part][name] == value:
                section = _without(section, part, name)
                patch = replacement
        settings = {name: part for name, part in (settings | {SECTION: section}).items() if part}
    if isinstance(settings.get("litellm_settings"), Mapping):
        settings["litellm_settings"] = _map_callbacks(settings["litellm_settings"])
    return {**arm, "settings": settings, "patch": patch}


def _renamed(section: Mapping[str, Any], model: type[SettingsModel], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the section of settings with current names and words."""
    renamed: dict[str, Any] = {}
    for former, value in section.items():
        name = model.RENAMED.get(former, former)
        field = model.model_fields.get(name)
        kind = None if field is None else field.annotation
        if isinstance(value, Mapping) and isinstance(kind, type) and issubclass(kind, SettingsModel):
            renamed[name] = _renamed(value, kind, (*path, name))
        else:
            words = WORDS.get((*path, name), {})
            renamed[name] = words.get(value, value) if isinstance(value, str) else value
    return renamed


def _without(section: Mapping[str, Any], part: str, name: str) -> dict[str, Any]:
    left = {key: value for key, value in section[part].items() if key != name}
    return {key: value for key, value in ({**section, part: left}).items() if value}


def _map_callbacks(section: Mapping[str, Any]) -> dict[str, Any]:
    callbacks = section.get("callbacks")
    if not isinstance(callbacks, list):
        return {**section}
    return {**section, "callbacks": [CALLBACKS.get(callback, callback) for callback in callbacks]}
