"""Requests and answers, independent of the provider's format.

A family of endpoints reads a body into a `Request`; `compose` decides what the answer says; the family writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from orjson import dumps

from evenkeel_mock import tokens
from evenkeel_mock.wire.schema import instance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORDS = (b"steady", b"as", b"she", b"goes", b"on", b"an", b"even", b"keel")
"""The vocabulary, said over and over. A word counts as a token, and with its space is about as long as one."""

STOP, LENGTH, TOOL = "stop", "length", "tool"
"""Why an answer ends: all is said, `max_tokens` are, or a tool is called."""

_PREPARED = 8192


class Tool(NamedTuple):
    """A function that the answer may call."""

    name: str
    schema: Mapping[str, Any]


class Call(NamedTuple):
    """A function that the answer calls; its arguments are what the answer's pieces spell."""

    name: bytes
    """As JSON, quotes included."""
    arguments: bytes
    """As JSON, whole, even where `max_tokens` cuts the pieces short."""


class Request:
    """A request, as far as it steers the answer."""

    __slots__ = (
        "choices",
        "forced",
        "include_usage",
        "last_text",
        "max_tokens",
        "model",
        "prompt_tokens",
        "schema",
        "stream",
        "texts",
        "tool",
    )

    def __init__(  # noqa: PLR0913, PLR0917  # by position: names would cost more than a whole parse may
        self,
        model: str,
        texts: list[str],
        prompt_tokens: int,
        last_text: str = "",
        max_tokens: int | None = None,
        stream: bool = False,  # noqa: FBT001, FBT002
        include_usage: bool = False,  # noqa: FBT001, FBT002
        choices: int = 1,
        tool: Tool | None = None,
        forced: bool = False,  # noqa: FBT001, FBT002
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.texts = texts
        self.prompt_tokens = prompt_tokens
        self.last_text = last_text
        """The last thing the user said: what an echo answers."""
        self.max_tokens = max_tokens
        self.stream = stream
        self.include_usage = include_usage
        self.choices = choices
        self.tool = tool
        """The function that a call would be of."""
        self.forced = forced
        """Whether the request demands a call."""
        self.schema = schema
        """The schema that the text must follow, if the answer has to be JSON."""

    @property
    def prompt(self) -> bytes:
        """All texts sent to the model, in order, as the prompt cache compares them."""
        return "\n".join(self.texts).encode()


class Answer:
    """An answer, ready to be written. One piece is one token and, in a stream, one chunk."""

    __slots__ = (
        "cached_tokens",
        "call",
        "completion_tokens",
        "created",
        "finish",
        "identity",
        "pieces",
        "prompt_tokens",
    )

    def __init__(
        self,
        identity: bytes,
        created: int,
        pieces: Sequence[bytes],
        finish: str,
        prompt_tokens: int,
        cached_tokens: int,
        completion_tokens: int,
        call: Call | None = None,
    ) -> None:
        self.identity = identity
        """Letters and digits; each family puts its own prefix before it."""
        self.created = created
        """Seconds since 1970."""
        self.pieces = pieces
        """Text of the answer, each piece as the inside of a JSON string."""
        self.finish = finish
        self.prompt_tokens = prompt_tokens
        self.cached_tokens = cached_tokens
        """Prompt tokens that were cached."""
        self.completion_tokens = completion_tokens
        """Of all choices together."""
        self.call = call


def compose(
    request: Request,
    identity: bytes,
    created: int,
    length: int,
    *,
    cut: bool = False,
    cached_tokens: int = 0,
    echo: bool = False,
    eager: bool = False,
) -> Answer:
    """Decide what a request is answered.

    The answer is `length` words, or what the user said last (`echo`). A function call and an answer that has to be
    JSON are as long as they are: look at `answer.pieces` for how many chunks there will be. A function is called if
    the request demands it, and with `eager` also if it merely allows it. `max_tokens` cuts all of them; `cut` says
    that it has cut the length already.
    """
    finish, limit, call, tool = STOP, request.max_tokens, None, request.tool
    pieces: Sequence[bytes]
    if tool is not None and (request.forced or eager):
        arguments = dumps(instance(tool.schema))
        call = Call(dumps(tool.name), arguments)
        pieces, finish = _escaped(arguments.decode()), TOOL
    elif request.schema is not None:
        pieces = _escaped(dumps(instance(request.schema)).decode())
    elif echo:
        pieces = _escaped(request.last_text)
    elif limit is not None and length > limit:
        pieces, finish = _words(limit), LENGTH
    else:
        pieces, finish = _words(length), LENGTH if cut else STOP
    if limit is not None and len(pieces) > limit:
        pieces, finish = pieces[:limit], LENGTH
    return Answer(
        identity,
        created,
        pieces,
        finish,
        request.prompt_tokens,
        cached_tokens,
        len(pieces) * request.choices,
        call,
    )


def _escaped(text: str) -> list[bytes]:
    return [dumps(piece)[1:-1] for piece in tokens.split(text)]


def _vocabulary(length: int) -> tuple[bytes, ...]:
    spaced = tuple(b" " + word for word in WORDS)
    return (WORDS[:1] + (spaced * (length // len(spaced) + 1))[1:])[:length]


_VOCABULARY = _vocabulary(_PREPARED)


def _words(length: int) -> tuple[bytes, ...]:
    return _VOCABULARY[:length] if length <= _PREPARED else _vocabulary(length)
