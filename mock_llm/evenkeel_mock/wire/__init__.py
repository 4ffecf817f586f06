"""The formats in which providers are spoken to: bytes in, bytes out, and nothing else.

One module for each family of endpoints. Those that generate text have the same three functions, see `Family`;
embeddings have no stream, models no request.
"""

from __future__ import annotations

from typing import Protocol

from evenkeel_mock.wire import chat, completions, embeddings, errors, messages, models, responses
from evenkeel_mock.wire.answer import Answer, Call, Request, Tool, compose

__all__ = [
    "FAMILIES",
    "Answer",
    "Call",
    "Family",
    "Request",
    "Tool",
    "chat",
    "completions",
    "compose",
    "embeddings",
    "errors",
    "messages",
    "models",
    "responses",
]


class Family(Protocol):
    """A family of endpoints that generate text."""

    def parse(self, body: bytes) -> Request:
        """Read a request, or raise `BadRequest`."""

    def whole(self, request: Request, answer: Answer) -> bytes:
        """Write an answer that does not stream."""

    def events(self, request: Request, answer: Answer) -> tuple[bytes, list[bytes], bytes]:
        """Write an answer that streams: what comes before the first chunk and with it, the chunks, what comes last."""


FAMILIES: dict[str, Family] = {
    "/v1/chat/completions": chat,
    "/v1/completions": completions,
    "/v1/responses": responses,
    "/v1/messages": messages,
}
"""Who answers a path."""
