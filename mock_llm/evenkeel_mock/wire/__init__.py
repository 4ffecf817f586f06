"""The formats in which providers are spoken to: bytes in, bytes out, and nothing else.

One module for each family of endpoints. Those that generate text have the same three functions: `parse` reads a request
or raises `BadRequest`; `whole` writes an answer in one; `events` writes a stream's head, its chunks and its tail.
Embeddings have no stream, models no request.
"""

from __future__ import annotations

from evenkeel_mock.wire import chat, completions, embeddings, errors, messages, models, responses
from evenkeel_mock.wire.answer import Answer, Call, Request, Tool, compose

__all__ = [
    "Answer",
    "Call",
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
