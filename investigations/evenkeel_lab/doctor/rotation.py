"""Checks of the rotation: LiteLLM calls it, its settings are valid, and its workers share state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenkeel_lab.doctor.callbacks import ROTATION, entries
from evenkeel_lab.doctor.config_file import resolve_values
from evenkeel_lab.doctor.finding import Finding, error, ok, warning
from evenkeel_lab.doctor.plugin_section import plugin_settings
from evenkeel_lab.doctor.stores import RedisTarget
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.settings import SessionBackend
from litellm_evenkeel.rotation.settings_check import settings_warnings
from litellm_evenkeel.settings import SECTION
from litellm_evenkeel.support.redis_address import Topology, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel_lab.doctor.config_file import ProxyConfig
    from litellm_evenkeel.rotation.settings import RotationSettings

# The strategies with which the router calls the hooks. With any other, it takes its old synchronous path.
ASYNC_STRATEGIES = frozenset(
    {"simple-shuffle", "usage-based-routing-v2", "cost-based-routing", "latency-based-routing", "least-busy"}
)
# LiteLLM's checks that prefer a deployment after the pick, when only one is left.
PREFERENCES = frozenset({"deployment_affinity", "session_affinity", "prompt_caching"})


def rotation(config: ProxyConfig, environment: Mapping[str, str], workers: int) -> list[Finding]:
    """Check the rotation, if it is loaded."""
    if not any(entry.name == ROTATION for entry in entries(config)):
        return [ok("routing", "left to LiteLLM, the rotation is not named", config.path.name)]
    routing = list(_routing_findings(config)) or [
        ok("routing", "nothing stands between the rotation and the choice", config.path.name)
    ]
    return [*routing, *_settings_findings(config, environment, workers)]


def _routing_findings(config: ProxyConfig) -> Iterator[Finding]:
    """Warn of settings with which LiteLLM does not call the rotation, or overrides its pick."""
    router = config.section("router_settings")
    strategy = router.get("routing_strategy")
    if isinstance(strategy, str) and strategy not in ASYNC_STRATEGIES:
        yield warning(
            "routing",
            f"`routing_strategy: {strategy}` takes LiteLLM's old path, which never asks the rotation",
            config.where("router_settings", "routing_strategy"),
            hint="Remove it, or take simple-shuffle.",
        )
    checks = router.get("optional_pre_call_checks")
    names = [check for check in checks if isinstance(check, str)] if isinstance(checks, list) else []
    preferences = [name for name in names if name in PREFERENCES]
    if preferences:
        yield warning(
            "routing",
            f"`optional_pre_call_checks` ({', '.join(preferences)}) run after the pick: they get one account, and "
            "cannot prefer another",
            config.where("router_settings", "optional_pre_call_checks"),
            hint="Remove them: the rotation keeps a session at its account without them.",
        )


def _settings_findings(config: ProxyConfig, environment: Mapping[str, str], workers: int) -> Iterator[Finding]:
    """Check the settings of the rotation, and those in the entries of deployments."""
    plugin = plugin_settings(config, environment, ROTATION)
    if plugin is None:
        # `plugin_section` reports it.
        return
    settings = plugin.rotation
    models = config.values.get("model_list")
    for number, deployment in enumerate(models if isinstance(models, list) else ()):
        if not _has_params(deployment):
            # `config_file` reports it.
            continue
        try:
            DeploymentSpec.from_litellm(resolve_values(deployment, environment), settings.accounts)
        except SettingsError as wrong:
            yield error(
                "rotation",
                str(wrong).rstrip("."),
                config.where("model_list", number, "model_info"),
                hint="The proxy does not start before. Mend it.",
            )
            return
    usable = (
        [resolve_values(item, environment) for item in models or () if _has_params(item)]
        if isinstance(models, list)
        else []
    )
    for problem in settings_warnings(settings.accounts, usable, f"{SECTION}.rotation.accounts"):
        yield warning(
            "rotation", f"{problem.path}: {problem.message.rstrip('.')}", config.where(SECTION), hint=problem.hint
        )
    yield _sharing(config, settings, workers)


def rotation_targets(config: ProxyConfig, environment: Mapping[str, str]) -> list[RedisTarget]:
    """Return the Redis servers that the rotation has addresses of its own for."""
    plugin = plugin_settings(config, environment, ROTATION)
    if plugin is None:
        return []
    shared, affinity = plugin.rotation.shared.redis_url, plugin.rotation.affinity
    urls = {
        "shared.redis_url": None if shared is None or shared.is_litellm else shared.get_secret_value(),
        "affinity.url": affinity.url.get_secret_value()
        if affinity.backend is SessionBackend.REDIS and not affinity.url.is_litellm
        else None,
    }
    where = config.where(SECTION, "rotation")
    return [target for name, url in urls.items() if url for target in _targets(f"`{name}`", where, url)]


def _targets(name: str, where: str, url: str) -> list[RedisTarget]:
    """Return the servers of an address: all nodes of a cluster, or all Sentinels."""
    address = parse_address(url)
    if address.topology is Topology.SERVER:
        # A Unix socket has neither host nor port.
        return [] if url.startswith("unix:") else [RedisTarget(name, where, {"url": url})]
    options = address.options if address.topology is Topology.CLUSTER else address.sentinel_options
    return [RedisTarget(name, where, {**options, "host": host, "port": port}) for host, port in address.nodes]


def _sharing(config: ProxyConfig, settings: RotationSettings, workers: int) -> Finding:
    if settings.shared.redis_url is None and workers > 1:
        return warning(
            "rotation",
            f"{workers} workers know nothing of each other: each uses the limits of all accounts by itself",
            config.where(SECTION, "rotation", "shared"),
            hint="Write `evenkeel: {rotation: {shared: {redis_url: litellm}}}`.",
        )
    return ok("rotation", f"strategy {settings.strategy}, settings and limits understood", config.where(SECTION))


def _has_params(deployment: object) -> bool:
    return isinstance(deployment, Mapping) and all(
        isinstance(deployment.get(name) or {}, Mapping) for name in ("litellm_params", "model_info")
    )
