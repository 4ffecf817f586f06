"""The configuration of the running proxy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

CALLBACK_LISTS = ("callbacks", "success_callback", "failure_callback")


def proxy_config() -> Mapping[str, Any]:
    """Return what the proxy's YAML says, as LiteLLM has read it; nothing where there is no proxy."""
    server = sys.modules.get("litellm.proxy.proxy_server")
    config = getattr(getattr(server, "proxy_config", None), "config", None)
    return config if isinstance(config, Mapping) else {}


def callbacks() -> list[str]:
    """Return the names of all callbacks that it says to load, in whichever list."""
    settings = proxy_config().get("litellm_settings")
    named = [settings.get(name) for name in CALLBACK_LISTS] if isinstance(settings, Mapping) else []
    return [one for several in named for one in ([several] if isinstance(several, str) else several or ())]
