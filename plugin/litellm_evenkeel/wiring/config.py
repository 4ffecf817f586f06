"""The configuration of the running proxy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def of_proxy() -> Mapping[str, Any]:
    """Return what the proxy's YAML says, as LiteLLM has read it; nothing where there is no proxy."""
    server = sys.modules.get("litellm.proxy.proxy_server")
    config = getattr(getattr(server, "proxy_config", None), "config", None)
    return config if isinstance(config, Mapping) else {}
