"""The headers of a provider's response, as the provider named them."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "llm_provider-"
"""What LiteLLM puts before the names of a provider's headers."""


def plain(headers: object) -> dict[str, str]:
    """Return headers by their names in lower case, without LiteLLM's prefix; what is no header is left out.

    A name with the prefix wins over the same without: it is certain to be the provider's own.
    """
    found: dict[str, str] = {}
    prefixed: dict[str, str] = {}
    if not isinstance(headers, Mapping):
        return found
    for name, value in headers.items():
        text = _text(value)
        key = _text(name)
        if text is None or key is None:
            continue
        key = key.strip().lower()
        if key.startswith(PREFIX):
            prefixed[key.removeprefix(PREFIX)] = text
        else:
            found[key] = text
    return found | prefixed


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bytes):
        return value.decode("latin-1").strip()
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20):
        return str(value)
    return None
