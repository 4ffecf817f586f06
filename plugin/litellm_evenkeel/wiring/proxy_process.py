"""The configuration of the running proxy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

LISTS = ("callbacks", "success_callback", "failure_callback")


def of_proxy() -> Mapping[str, Any]:
    """Return what the proxy's YAML says, as LiteLLM has read it; nothing where there is no proxy."""
    server = sys.modules.get("litellm.proxy.proxy_server")
    config = getattr(getattr(server, "proxy_config", None), "config", None)
    return config if isinstance(config, Mapping) else {}


def callbacks() -> list[str]:
    """Return the names of all callbacks that it says to load, in whichever list."""
    settings = of_proxy().get("litellm_settings")
    named = [settings.get(name) for name in LISTS] if isinstance(settings, Mapping) else []
    return [one for several in named for one in ([several] if isinstance(several, str) else several or ())]
