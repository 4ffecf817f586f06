"""The YAML of a proxy: generated from what the stack knows, with the spec's own settings laid over it."""

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
ROTATION, PROMETHEUS, JOURNAL = (f"litellm_evenkeel.proxy.{name}" for name in ("rotation", "prometheus", "journal"))

SERVICES: Mapping[str, Any] = {
    "general_settings": {"database_url": "os.environ/DATABASE_URL"},
    # For counters and shared state; no response is ever taken from it. The address as a whole, because its
    # user, its database number and its TLS get lost where host and port are named one by one.
    "litellm_settings": {"cache": True, "cache_params": {"type": "redis", "url": REDIS, "supported_call_types": []}},
    "router_settings": {"redis_url": REDIS},
}
"""What a proxy stands on, beside the provider."""


class Prometheus(StrEnum):
    """Which Prometheus callback a proxy loads."""

    OFF = "off"
    STOCK = "stock"
    EVENKEEL = "evenkeel"


class Rotation(StrEnum):
    """Who chooses the account of a request: LiteLLM's own strategy, or the plugin's callback."""

    OFF = "off"
    EVENKEEL = "evenkeel"


class Journal(StrEnum):
    """Where the plugin's journal writes down requests, if it does."""

    OFF = "off"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


@dataclass(frozen=True)
class ProxySpec:
    """A proxy to be: everything that may differ between two arms of an experiment."""

    litellm: str = DEFAULT_VERSION
    prometheus: Prometheus = Prometheus.OFF
    workers: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Laid over the generated YAML, section by section."""
    rotation: Rotation = Rotation.OFF
    journal: Journal = Journal.OFF
    accounts: tuple[Account, ...] = ()
    """The provider's accounts behind the one model name; a single one that may do anything if none are named."""
    bare: bool = False
    """Whether it stands on nothing but the provider: no database, no Redis, no key but its master's."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of its own, beside those that the stack sets."""
    patch: str = ""
    """What LiteLLM leaves out, or does otherwise; see probe/patches_of_proxy.py."""
    keep_alive: int | None = None
    """Seconds for which an idle connection is kept; LiteLLM's usual 5 if not given. One that is closed while a request
    is on its way is lost to its client, which a busy proxy does now and then."""


CALLBACKS: Mapping[str, Callable[[ProxySpec], bool]] = {
    ROTATION: lambda spec: spec.rotation is Rotation.EVENKEEL,
    "prometheus": lambda spec: spec.prometheus is Prometheus.STOCK,
    PROMETHEUS: lambda spec: spec.prometheus is Prometheus.EVENKEEL,
    JOURNAL: lambda spec: spec.journal is not Journal.OFF,
}
"""What a proxy may load, and when it does."""


def proxy_config(spec: ProxySpec, mock_url: str) -> dict[str, Any]:
    """Return the whole configuration. Secrets are not in it: they reach the proxy through its environment."""
    config: dict[str, Any] = {
        "model_list": model_list(spec, f"{mock_url}/v1"),
        "litellm_settings": {},
        "router_settings": {},
        "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY"},
    }
    callbacks = [name for name, wanted in CALLBACKS.items() if wanted(spec)]
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
    """Lay one nested mapping over another. Lists and scalars replace, mappings merge."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(below, value)
        else:
            result[key] = value
    return result
