"""The YAML of a proxy: generated from what the stack knows, with the subject's own settings laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import yaml

from evenkeel_lab.stack.subject import DEFAULT_VERSION

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "gpt-4o-mini"
REDIS = "os.environ/REDIS_URL"


class Prometheus(StrEnum):
    """Which Prometheus callback a proxy loads."""

    OFF = "off"
    STOCK = "stock"


@dataclass(frozen=True)
class Subject:
    """A proxy to be: everything that may differ between two arms of an experiment."""

    litellm: str = DEFAULT_VERSION
    prometheus: Prometheus = Prometheus.OFF
    workers: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Laid over the generated YAML, section by section."""


def proxy_config(subject: Subject, mock_url: str) -> dict[str, Any]:
    """Return the whole configuration. Secrets are not in it: they reach the proxy through its environment."""
    deployment = {
        "model_name": MODEL,
        "litellm_params": {"model": f"openai/{MODEL}", "api_base": f"{mock_url}/v1", "api_key": "sk-mock-account"},
    }
    config: dict[str, Any] = {
        "model_list": [deployment],
        "litellm_settings": {},
        "router_settings": {},
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY", "database_url": "os.environ/DATABASE_URL"},
    }
    if subject.prometheus is Prometheus.STOCK:
        config["litellm_settings"]["callbacks"] = ["prometheus"]
    # For counters and shared state; no response is ever taken from it. The address as a whole, because its
    # user, its database number and its TLS get lost where host and port are named one by one.
    config["litellm_settings"] |= {
        "cache": True,
        "cache_params": {"type": "redis", "url": REDIS, "supported_call_types": []},
    }
    config["router_settings"] |= {"redis_url": REDIS}
    return merged(config, subject.settings)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested mapping over another. Lists and scalars replace, mappings merge."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(below, value)
        else:
            result[key] = value
    return result


def write_config(config: Mapping[str, Any], path: Path) -> None:
    """Write a configuration where the proxy reads it."""
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False), encoding="utf-8")
