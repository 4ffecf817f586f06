"""The body of a request: a function of the plan and the request's number, and so the same for both arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from evenkeel_load.scenario import EMBEDDINGS

if TYPE_CHECKING:
    from evenkeel_load.plan import Plan
    from evenkeel_load.scenario import Call

WORDS = "the keel is what keeps a ship upright when wind and sea would have it otherwise and "
KEY_HEADER = "x-mock-key"
EMBEDDING_MODEL = "text-embedding-3-small"


def key(plan: Plan, number: int) -> str:
    """Return what a mock provider draws a request's latency from."""
    return f"{plan.seed}-{number}"


def body(plan: Plan, call: Call, number: int, user_id: str | None) -> bytes:
    """Return the body of a request."""
    # Distinct from its first word on, so that nothing between here and the provider can take two for one.
    which = number % plan.prompts if plan.prompts else number
    said = text(f"{plan.seed}-{which}", plan.payload_bytes)
    found: dict[str, Any]
    if call == EMBEDDINGS:
        found = {"model": EMBEDDING_MODEL, "input": said}
    else:
        found = {"model": plan.models.choose(plan.seed, number), "messages": [{"role": "user", "content": said}]}
        if plan.max_tokens:
            found["max_tokens"] = plan.max_tokens
        if call.stream:
            found |= {"stream": True, "stream_options": {"include_usage": True}}
    if user_id is not None:
        found["user"] = user_id
    # A proxy does not pass headers on, but it does pass on these.
    found["extra_headers"] = {KEY_HEADER: key(plan, number)}
    return orjson.dumps(found)


def text(first: str, size: int) -> str:
    """Return a text of that many bytes, at least the first word."""
    filler = WORDS * (max(0, size - len(first)) // len(WORDS) + 1)
    return f"{first} {filler}"[: max(size, len(first))]
