"""Configuration of the running proxy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

CALLBACK_LISTS = ("callbacks", "success_callback", "failure_callback")


def proxy_config() -> Mapping[str, Any]:
    """Return the proxy's YAML as LiteLLM has read it, or an empty mapping without a proxy."""
    server = sys.modules.get("litellm.proxy.proxy_server")
    config = getattr(getattr(server, "proxy_config", None), "config", None)
    return config if isinstance(config, Mapping) else {}


def callbacks() -> list[str]:
    """Return the names in all callback lists of the configuration. A list may also be a single name."""
    settings = proxy_config().get("litellm_settings")
    lists = [settings.get(name) for name in CALLBACK_LISTS] if isinstance(settings, Mapping) else []
    return [name for names in lists for name in ([names] if isinstance(names, str) else names or ())]
