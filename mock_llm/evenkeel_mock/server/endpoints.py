"""The endpoints: which family of messages each speaks, in whose words, under which number in the journal."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from evenkeel_mock.errors import BadRequest
from evenkeel_mock.quotas.headers import Dialect
from evenkeel_mock.wire import chat, completions, embeddings, errors, messages, models, responses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel_mock.wire.answer import Answer, Request


@dataclass(frozen=True)
class Family:
    """One endpoint."""

    name: str
    number: int
    dialect: Dialect
    parse: Callable[[bytes], Request]
    response_body: Callable[[Request, Answer], bytes]
    events: Callable[[Request, Answer], tuple[bytes, Sequence[bytes], bytes]] | None = None
    """A stream's head, chunks and tail; None if the endpoint does not stream."""
    failure: Callable[[int], bytes] = errors.openai_event
    """The event that tells of a failure in the middle of a stream, given its number."""


CREATED = 1_700_000_000
FAMILIES = {
    "/v1/chat/completions": Family("chat", 0, Dialect.OPENAI, chat.parse, chat.response_body, chat.events),
    "/v1/completions": Family(
        "completions", 1, Dialect.OPENAI, completions.parse, completions.response_body, completions.events
    ),
    "/v1/responses": Family(
        "responses",
        2,
        Dialect.OPENAI,
        responses.parse,
        responses.response_body,
        responses.events,
        errors.responses_event,
    ),
    "/v1/embeddings": Family("embeddings", 3, Dialect.OPENAI, embeddings.parse, embeddings.response_body),
    "/v1/messages": Family(
        "messages",
        4,
        Dialect.ANTHROPIC,
        messages.parse,
        messages.response_body,
        messages.events,
        errors.anthropic_event,
    ),
}

COUNT_TOKENS, COUNTED = "/v1/messages/count_tokens", 5
MODELS, LISTED = "/v1/models", 6
UNKNOWN = 7


def answer_auxiliary(
    method: str, path: str, body: bytes, names: Sequence[str], *, of_anthropic: bool
) -> tuple[int, int, bytes]:
    """Answer what takes no time and no quota; return the endpoint's number, the status and the body."""
    number = COUNTED if path == COUNT_TOKENS else LISTED if path == MODELS or path.startswith(f"{MODELS}/") else UNKNOWN
    try:
        if number == COUNTED and method == "POST":
            return number, HTTPStatus.OK, messages.count(messages.parse_count(body))
        if number == LISTED and method == "GET":
            return number, HTTPStatus.OK, _models(path, names, of_anthropic=of_anthropic)
    except BadRequest as error:
        rejection = error
    else:
        known = number != UNKNOWN or path in FAMILIES
        status = HTTPStatus.METHOD_NOT_ALLOWED if known else HTTPStatus.NOT_FOUND
        rejection = BadRequest(status, f"{method} {path}: {status.phrase.lower()}.")
    return number, rejection.status, errors.bad_request(rejection, of_anthropic=of_anthropic or number == COUNTED)


def _models(path: str, names: Sequence[str], *, of_anthropic: bool) -> bytes:
    name = path.removeprefix(MODELS).strip("/")
    if of_anthropic:
        return models.anthropic_one(names, name, CREATED) if name else models.anthropic_list(names, CREATED)
    return models.openai_one(names, name, CREATED) if name else models.openai_list(names, CREATED)
