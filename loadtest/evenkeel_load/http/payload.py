"""Parts of a request's body that are drawn from the seed and the request's number, and so are equal in both arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_load.plan import Plan

WORDS = "the keel is what keeps a ship upright when wind and sea would have it otherwise and "
KEY_HEADER = "x-mock-key"


def key(plan: Plan, number: int) -> str:
    """Return the key that the mock provider draws the latency of a request from."""
    return f"{plan.seed}-{number}"


def prompt(plan: Plan, number: int) -> str:
    """Return the prompt of a request."""
    # Distinct from its first word on, so that no cache between here and the provider can take two prompts for one.
    return text(f"{plan.seed}-{number % plan.prompts if plan.prompts else number}", plan.payload_bytes)


def encode(fields: Mapping[str, Any], mock_key: str) -> bytes:
    """Return the body of a request, without the fields that are None."""
    body = {name: value for name, value in fields.items() if value is not None}
    # LiteLLM does not forward headers of a client, but does send these to its provider.
    body["extra_headers"] = {KEY_HEADER: mock_key}
    return orjson.dumps(body)


def text(first: str, size: int) -> str:
    """Return a text of `size` bytes that begins with `first`, or `first` alone if it is longer."""
    filler = WORDS * (max(0, size - len(first)) // len(WORDS) + 1)
    return f"{first} {filler}"[: max(size, len(first))]
