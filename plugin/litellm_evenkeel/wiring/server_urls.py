"""Addresses of LiteLLM's own Redis and database, from the configuration and environment that LiteLLM reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.support.redis_address import REDIS_PORT, Node, cluster_url, require_valid_address, sentinel_url

REDIS_SOURCES = (
    "router_settings, litellm_settings.cache_params, REDIS_URL, REDIS_HOST, REDIS_CLUSTER_NODES and "
    "REDIS_SENTINEL_NODES"
)
# LiteLLM's names for the same: of its variables, and of its settings.
CLUSTER_NODES, SENTINEL_NODES = ("startup_nodes", "cluster_nodes"), ("sentinel_nodes",)
TARGETS = ("url", "host", "port", *CLUSTER_NODES, *SENTINEL_NODES)


def redis(config: Mapping[str, Any], environ: Mapping[str, str], path: str) -> str:
    """Return the address of LiteLLM's Redis. Raise SettingsError, with the setting `path`, if there is none."""
    router, litellm = _section(config, "router_settings"), _section(config, "litellm_settings")
    cache = _section(litellm, "cache_params")
    env = {name.removeprefix("REDIS_").lower(): value for name, value in environ.items() if name.startswith("REDIS_")}
    of_router = _without_prefix({name: value for name, value in router.items() if name.startswith("redis_")})
    for source in filter(None, (of_router, _without_prefix(cache), env)):
        if url := _redis_url(_with_variables(source, env), path):
            require_valid_address(url, path)
            return url
    raise SettingsError(
        f"{path}: LiteLLM uses no Redis: {REDIS_SOURCES} name none. Hint: write an address such as redis://host."
    )


def postgres(config: Mapping[str, Any], environ: Mapping[str, str], path: str) -> str:
    """Return the address of LiteLLM's database. Raise SettingsError, with the setting `path`, if there is none."""
    url = _section(config, "general_settings").get("database_url") or environ.get("DATABASE_URL")
    if not url:
        raise SettingsError(
            f"{path}: LiteLLM has no database: neither general_settings.database_url nor DATABASE_URL names one. "
            f"Hint: set one of them."
        )
    return str(url)


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = config.get(name)
    return section if isinstance(section, Mapping) else {}


def _without_prefix(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("redis_"): value for name, value in section.items() if value}


def _with_variables(source: Mapping[str, Any], env: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what LiteLLM reads from settings and variables together: settings come first."""
    names_server = any(source.get(name) for name in TARGETS)
    return {**{name: value for name, value in env.items() if not (names_server and name in TARGETS)}, **source}


def _redis_url(source: Mapping[str, Any], path: str) -> str | None:
    """Return the address in one source of LiteLLM's. As for LiteLLM, a cluster comes before Sentinels and servers."""
    ssl = str(source.get("ssl", "")).lower() == "true"
    user, password = (str(source.get(name) or "") for name in ("username", "password"))
    if nodes := _nodes(source, CLUSTER_NODES, path):
        return cluster_url(nodes, username=user, password=password, ssl=ssl)
    if (nodes := _nodes(source, SENTINEL_NODES, path)) and source.get("service_name"):
        return sentinel_url(
            nodes,
            str(source["service_name"]),
            username=user,
            password=password,
            db=_number(source, "db", path),
            ssl=ssl,
            sentinel_password=str(source.get("sentinel_password") or ""),
        )
    if source.get("url"):
        return str(source["url"])
    if not source.get("host"):
        return None
    credentials = f"{quote(user, safe='')}:{quote(password, safe='')}@" if password else ""
    scheme = "rediss" if ssl else "redis"
    return f"{scheme}://{credentials}{source['host']}:{source.get('port') or REDIS_PORT}/{source.get('db') or 0}"


def _nodes(source: Mapping[str, Any], names: tuple[str, ...], path: str) -> list[Node]:
    """Return nodes, which are `{"host": ..., "port": ...}` or `[host, port]` in a list or its JSON."""
    name = next((name for name in names if source.get(name)), names[0])
    nodes = source.get(name) or ()
    try:
        parsed = json.loads(nodes) if isinstance(nodes, str) else nodes
        pairs = [(node["host"], node["port"]) if isinstance(node, Mapping) else node for node in parsed]
        return [(str(host), int(port)) for host, port in pairs]
    except (ValueError, TypeError, KeyError):
        raise SettingsError(
            f"{path}: LiteLLM's {name} cannot be read. Hint: write them as LiteLLM's documentation says, or write "
            "an address such as redis+cluster://host:6379,host2:6379 here."
        ) from None


def _number(source: Mapping[str, Any], name: str, path: str) -> int:
    try:
        return int(source.get(name) or 0)
    except (TypeError, ValueError):
        raise SettingsError(f"{path}: LiteLLM's Redis setting {name} is no number. Hint: write one.") from None
