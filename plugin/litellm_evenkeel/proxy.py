"""What a proxy's YAML names: `callbacks: ["litellm_evenkeel.proxy.rotation"]`. Each is made when it is asked for."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from litellm_evenkeel import compatibility

CALLBACKS = ("rotation",)


def __getattr__(name: str) -> Any:
    """Make a callback, once."""
    if name not in CALLBACKS:
        raise AttributeError(f"There is no {name!r} in litellm_evenkeel.proxy; there is {', '.join(CALLBACKS)}.")
    # Before anything of LiteLLM is imported that an older one may not have.
    compatibility.require(metadata.version("litellm"))
    from litellm_evenkeel import wiring  # noqa: PLC0415 - a proxy that is refused should be told why, not fail to import

    made = globals()[name] = wiring.rotation()
    return made
