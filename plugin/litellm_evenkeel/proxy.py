"""What a proxy's YAML names: `callbacks: ["litellm_evenkeel.proxy.rotation"]`. Each is made when it is asked for."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

from litellm_evenkeel import compatibility
from litellm_evenkeel.metrics.multiprocess.directory import enable_multiprocess_values, prepare_folder
from litellm_evenkeel.wiring.proxy_process import callbacks

CALLBACKS = ("rotation", "prometheus", "gc_freeze", "journal")
RENAMED = {"collector": "gc_freeze"}
PROMETHEUS = "litellm_evenkeel.proxy.prometheus"


def __getattr__(name: str) -> Any:
    """Make a callback, once."""
    if name in RENAMED:
        raise AttributeError(f"litellm_evenkeel.proxy.{name} is called litellm_evenkeel.proxy.{RENAMED[name]} now.")
    if name not in CALLBACKS:
        raise AttributeError(f"There is no {name!r} in litellm_evenkeel.proxy; there is {', '.join(CALLBACKS)}.")
    # Before anything of LiteLLM is imported that an older one may not have.
    compatibility.require(metadata.version("litellm"))
    # Before Prometheus' client is imported, by whichever of them comes first.
    if PROMETHEUS in callbacks() and prepare_folder() is not None:
        enable_multiprocess_values()
    # Each has a module of its own, so that nothing is imported for what is not asked for.
    made = globals()[name] = getattr(import_module(f"litellm_evenkeel.wiring.{name}"), name)()
    return made
