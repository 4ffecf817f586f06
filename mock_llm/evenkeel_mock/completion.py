"""What the mock answers to a chat request: pure functions from request to bytes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("steady", "as", "she", "goes", "on", "an", "even", "keel")
CHARACTERS_PER_TOKEN = 4
DONE = b"data: [DONE]\n\n"


class BadRequest(Exception):
    """A request that a provider would refuse; its text is told to the client."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What of a chat request steers the answer."""

    model: str
    prompt_tokens: int
    stream: bool
    include_usage: bool

    @classmethod
    def parse(cls, body: bytes) -> ChatRequest:
        """Read a request, or say what is wrong with it."""
        try:
            fields = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"The body is not JSON: {error}") from error
        if not isinstance(fields, dict) or not isinstance(fields.get("model"), str):
            raise BadRequest("you must provide a model parameter")
        if not isinstance(fields.get("messages"), list) or not fields["messages"]:
            raise BadRequest("Missing required parameter: 'messages'.")
        text = sum(len(str(message.get("content", ""))) for message in fields["messages"])
        options = fields.get("stream_options") or {}
        return cls(
            model=fields["model"],
            prompt_tokens=max(1, text // CHARACTERS_PER_TOKEN),
            stream=bool(fields.get("stream")),
            include_usage=bool(options.get("include_usage")),
        )

    @property
    def usage(self) -> dict[str, int]:
        """What is billed: an approximation of four characters a token."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": len(WORDS),
            "total_tokens": self.prompt_tokens + len(WORDS),
        }


def completion(request: ChatRequest, identity: str) -> bytes:
    """Return the whole answer to a request that does not stream."""
    message = {"role": "assistant", "content": " ".join(WORDS)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return orjson.dumps(_envelope(request, identity, "chat.completion") | {"choices": [choice], "usage": request.usage})


def chunks(request: ChatRequest, identity: str) -> Iterator[bytes]:
    """Return the events of the answer to a request that streams."""
    envelope = _envelope(request, identity, "chat.completion.chunk")
    for number, word in enumerate(WORDS):
        delta = {"content": f" {word}"} if number else {"role": "assistant", "content": word}
        yield _event(envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event(envelope | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if request.include_usage:
        yield _event(envelope | {"choices": [], "usage": request.usage})
    yield DONE


def error(message: str, kind: str) -> bytes:
    """Return an error in the shape of OpenAI's."""
    return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}})


def _envelope(request: ChatRequest, identity: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{identity}", "object": kind, "created": int(time.time()), "model": request.model}


def _event(fields: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(fields) + b"\n\n"
