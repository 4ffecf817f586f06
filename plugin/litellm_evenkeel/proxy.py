"""Callbacks for a proxy's YAML, such as `callbacks: ["litellm_evenkeel.proxy.rotation"]`.

The first access to a name creates its callback.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

from litellm_evenkeel import compatibility, proxy_process
from litellm_evenkeel.metrics.multiprocess.directory import enable_multiprocess_values, prepare_folder

CALLBACKS = ("rotation", "prometheus", "gc_freeze", "journal", "lean")
RENAMED = {"collector": "gc_freeze"}
PROMETHEUS = "litellm_evenkeel.proxy.prometheus"


def __getattr__(name: str) -> Any:
    """Create a callback, and keep it for later accesses."""
    if name in RENAMED:
        raise AttributeError(f"litellm_evenkeel.proxy.{name} was renamed to litellm_evenkeel.proxy.{RENAMED[name]}.")
    if name not in CALLBACKS:
        raise AttributeError(
            f"litellm_evenkeel.proxy has no callback {name!r}. Hint: write one of {', '.join(CALLBACKS)}."
        )
    # Checked before any import of LiteLLM, because an older one may lack what is imported.
    compatibility.require(metadata.version("litellm"))
    # Multiprocess mode must be prepared before the first import of `prometheus_client`, which any callback may cause.
    if PROMETHEUS in proxy_process.callbacks() and prepare_folder() is not None:
        enable_multiprocess_values()
    # Each callback has a module of its own, so that nothing is imported for unused ones.
    callback = globals()[name] = getattr(import_module(f"litellm_evenkeel.wiring.{name}"), name)()
    return callback
