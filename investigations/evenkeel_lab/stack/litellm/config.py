"""Configuration of a proxy, generated from a `ProxySpec`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from evenkeel_lab.stack.litellm.environment import DEFAULT_VERSION

if TYPE_CHECKING:
    from evenkeel_lab.stack.litellm.accounts import Account

MODEL = "gpt-4o-mini"
REDIS = "os.environ/REDIS_URL"
ROTATION, PROMETHEUS, JOURNAL, LEAN = (
    f"litellm_evenkeel.proxy.{name}" for name in ("rotation", "prometheus", "journal", "lean")
)

SERVICES: Mapping[str, Any] = {
    "general_settings": {"database_url": "os.environ/DATABASE_URL"},
    # For counters and shared state; responses are not cached. As a URL, because LiteLLM ignores its user, database
    # number and TLS if host and port are separate.
    "litellm_settings": {"cache": True, "cache_params": {"type": "redis", "url": REDIS, "supported_call_types": []}},
    "router_settings": {"redis_url": REDIS},
}
"""Settings with which a proxy uses Postgres and Valkey."""


class Prometheus(StrEnum):
    """Prometheus callback of a proxy."""

    OFF = "off"
    STOCK = "stock"
    EVENKEEL = "evenkeel"


class Rotation(StrEnum):
    """Rotation of a proxy: LiteLLM's own strategy, or the plugin's callback."""

    OFF = "off"
    EVENKEEL = "evenkeel"


class Journal(StrEnum):
    """Store of the plugin's journal, if it is loaded."""

    OFF = "off"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


@dataclass(frozen=True)
class ProxySpec:
    """Specification of a proxy to boot: everything that may differ between two arms of an investigation."""

    litellm: str = DEFAULT_VERSION
    prometheus: Prometheus = Prometheus.OFF
    workers: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Overrides of the generated YAML; mappings are merged."""
    rotation: Rotation = Rotation.OFF
    journal: Journal = Journal.OFF
    accounts: tuple[Account, ...] = ()
    """Accounts of the model group; if empty, a single account without limits."""
    bare: bool = False
    """Whether the proxy has no database, no Redis, and no key but the master key."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables."""
    patch: str = ""
    """Name of a patch in `probes/patches_of_proxy.py`; empty for none."""
    keep_alive: int | None = None
    """Seconds after which an idle connection is closed; `None` for LiteLLM's 5. A request that is sent while its
    connection is closed fails, which happens at times with a busy proxy."""


CALLBACKS: Mapping[str, Callable[[ProxySpec], bool]] = {
    ROTATION: lambda spec: spec.rotation is Rotation.EVENKEEL,
    "prometheus": lambda spec: spec.prometheus is Prometheus.STOCK,
    PROMETHEUS: lambda spec: spec.prometheus is Prometheus.EVENKEEL,
    JOURNAL: lambda spec: spec.journal is not Journal.OFF,
}
"""Callbacks, each with the condition under which a proxy loads it."""


def proxy_config(spec: ProxySpec, mock_url: str) -> dict[str, Any]:
    """Return the configuration. It contains no secrets: they are in the proxy's environment."""
    config: dict[str, Any] = {
        "model_list": model_list(spec, f"{mock_url}/v1"),
        "litellm_settings": {},
        "router_settings": {},
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY"},
    }
    callbacks = [name for name, is_loaded in CALLBACKS.items() if is_loaded(spec)]
    if callbacks:
        config["litellm_settings"]["callbacks"] = callbacks
    if spec.journal is not Journal.OFF:
        config["evenkeel"] = {"journal": {"store": spec.journal.value}}
    return merged(config if spec.bare else merged(config, SERVICES), spec.settings)


def model_list(spec: ProxySpec, api_base: str) -> list[dict[str, Any]]:
    """Return a deployment for each account."""
    if spec.accounts:
        return [account.deployment(MODEL, api_base) for account in spec.accounts]
    params = {"model": f"openai/{MODEL}", "api_base": api_base, "api_key": "sk-mock-account"}
    return [{"model_name": MODEL, "litellm_params": params}]


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`. Mappings are merged; other values are replaced."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(below, value)
        else:
            result[key] = value
    return result
