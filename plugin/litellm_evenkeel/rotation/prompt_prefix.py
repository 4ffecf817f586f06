"""How a prompt begins: the part of it that stays the same while its conversation grows, in every API's form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Whoever puts the first user message behind more than these has a prompt that is known by what comes before.
MOST_MESSAGES = 32
MOST_PARTS = 16
# Claude Code's first system block has another hash in each request.
VOLATILE = "x-anthropic-billing-header"
# Spelled out, as a union of types would be made anew at each look.
LISTS = (list, tuple)
RESPONSES = "/responses"


def prompt_prefix(request: Mapping[str, Any], messages: object, route: object, characters: int) -> str | None:
    """Return how a prompt begins, so many characters of its instructions and of its first user message.

    The instructions are system and developer messages, Anthropic's `system` and the Responses API's `instructions`.
    Its `input` counts on its own routes only, or where none is told: embeddings have one too.
    """
    told = request.get("messages") if messages is None else messages
    if told is None and (not isinstance(route, str) or RESPONSES in route):
        told = request.get("input")
    above = text(request.get("system") or request.get("instructions"), characters)
    first = ""
    if isinstance(told, LISTS):
        above, first = _beginning(told, above, characters)
    elif isinstance(told, str):
        first = told[:characters]
    return f"{len(above)}:{above}{first}" if above or first else None


def _beginning(messages: list[Any] | tuple[Any, ...], above: str, characters: int) -> tuple[str, str]:
    """Return the instructions and the first user message."""
    for message in messages[:MOST_MESSAGES]:
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            return above, text(message.get("content"), characters)
        if (role == "system" or role == "developer") and len(above) < characters:  # noqa: PLR1714 - any type is compared
            above += text(message.get("content"), characters - len(above))
    return above, ""


def text(content: object, characters: int) -> str:
    """Return how a text begins, whether it is one or a list of parts."""
    if isinstance(content, str):
        return content[:characters]
    if not isinstance(content, LISTS):
        return ""
    found = ""
    for part in content[:MOST_PARTS]:
        told = part.get("text") if isinstance(part, dict) else part
        if isinstance(told, str) and not told.startswith(VOLATILE):
            found += told[: characters - len(found)]
            if len(found) >= characters:
                break
    return found
