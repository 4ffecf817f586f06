"""Message formats of the providers: pure functions from bytes to bytes.

One module for each family of endpoints. Those that generate text have the same three functions: `parse` reads a request
or raises `BadRequest`; `response_body` writes an answer as a body; `events` a stream's head, its chunks and its tail.
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
