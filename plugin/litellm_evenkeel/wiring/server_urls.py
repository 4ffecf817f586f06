"""Addresses of LiteLLM's own Redis and database, from the configuration and environment that LiteLLM reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from litellm_evenkeel.errors import SettingsError

REDIS_SOURCES = "router_settings, litellm_settings.cache_params, REDIS_URL and REDIS_HOST"


def redis(config: Mapping[str, Any], environ: Mapping[str, str], path: str) -> str:
    """Return the address of LiteLLM's Redis. Raise SettingsError, with the setting `path`, if there is none."""
    router, litellm = _section(config, "router_settings"), _section(config, "litellm_settings")
    cache = _section(litellm, "cache_params")
    env = {name.removeprefix("REDIS_").lower(): value for name, value in environ.items() if name.startswith("REDIS_")}
    for source in (_without_prefix(router), _without_prefix(cache), env):
        if source.get("url"):
            return str(source["url"])
        if source.get("host"):
            return _build_url(source)
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


def _build_url(source: Mapping[str, Any]) -> str:
    scheme = "rediss" if str(source.get("ssl", "")).lower() == "true" else "redis"
    user, password = (quote(str(source.get(name) or ""), safe="") for name in ("username", "password"))
    credentials = f"{user}:{password}@" if password else ""
    return f"{scheme}://{credentials}{source['host']}:{source.get('port') or 6379}/{source.get('db') or 0}"
