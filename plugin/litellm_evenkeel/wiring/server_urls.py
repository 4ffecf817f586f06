"""Where the proxy keeps its own state: of its configuration and environment, what LiteLLM itself reads of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from litellm_evenkeel.errors import SettingsError

REDIS_SOURCES = "router_settings, litellm_settings.cache_params, REDIS_URL and REDIS_HOST"


def redis(config: Mapping[str, Any], environ: Mapping[str, str], path: str) -> str:
    """Return the address of the Redis that LiteLLM uses; `where` is named if there is none."""
    router, caching = _section(config, "router_settings"), _section(config, "litellm_settings")
    cache = _section(caching, "cache_params")
    named = {name.removeprefix("REDIS_").lower(): value for name, value in environ.items() if name.startswith("REDIS_")}
    for told in (_without_prefix(router), _without_prefix(cache), named):
        if told.get("url"):
            return str(told["url"])
        if told.get("host"):
            return _build_url(told)
    raise SettingsError(
        f"{path}: LiteLLM uses no Redis: {REDIS_SOURCES} name none. Write an address such as redis://host."
    )


def postgres(config: Mapping[str, Any], environ: Mapping[str, str], path: str) -> str:
    """Return the address of LiteLLM's database; `where` is named if there is none."""
    found = _section(config, "general_settings").get("database_url") or environ.get("DATABASE_URL")
    if not found:
        raise SettingsError(f"{path}: LiteLLM has no database: neither general_settings nor DATABASE_URL names one.")
    return str(found)


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return found if isinstance(found, Mapping) else {}


def _without_prefix(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix("redis_"): value for name, value in section.items() if value}


def _build_url(told: Mapping[str, Any]) -> str:
    scheme = "rediss" if str(told.get("ssl", "")).lower() == "true" else "redis"
    user, password = (quote(str(told.get(name) or ""), safe="") for name in ("username", "password"))
    access = f"{user}:{password}@" if password else ""
    return f"{scheme}://{access}{told['host']}:{told.get('port') or 6379}/{told.get('db') or 0}"
