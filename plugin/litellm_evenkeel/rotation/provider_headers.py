"""The headers of a provider's response, as the provider named them."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "llm_provider-"
"""What LiteLLM puts before the names of a provider's headers."""


class Fields(dict[str, str]):
    """Headers as `plain` returns them."""


def plain(headers: object) -> Fields:
    """Return headers by their names in lower case, without LiteLLM's prefix; what is no header is left out.

    A name with the prefix wins over the same without: it is certain to be the provider's own.
    """
    found = Fields()
    prefixed: dict[str, str] = {}
    if isinstance(headers, Fields):
        return headers
    if not isinstance(headers, Mapping):
        return found
    for name, value in headers.items():
        # Nearly all of them are text, and there are dozens of them.
        text = value if type(value) is str else _text(value)
        key = name if type(name) is str else _text(name)
        if text is None or key is None:
            continue
        key = key.strip().lower()
        if key.startswith(PREFIX):
            prefixed[key.removeprefix(PREFIX)] = text
        else:
            found[key] = text
    found.update(prefixed)
    return found


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20):
        return str(value)
    return None
