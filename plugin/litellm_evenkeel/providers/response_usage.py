"""Usage, cost and cached tokens of a response, in every form that LiteLLM gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from litellm_evenkeel.support.durations import number


@dataclass(frozen=True, slots=True)
class ResponseUsage:
    """Usage that one response reports."""

    prompt_tokens: float = 0.0
    output_tokens: float = 0.0
    total_tokens: float = 0.0
    cached_tokens: float = 0.0
    dollars: float = 0.0
    headers: Mapping[str, Any] | None = None
    """Response headers of the provider; `None` if unknown."""
    is_from_cache: bool = False
    """Whether LiteLLM answered from its own cache, without any account."""
    is_known: bool = True
    """Whether the response states its usage."""


def usage_of_response(response: object) -> ResponseUsage:
    """Return the usage of a complete response."""
    hidden = _field(response, "_hidden_params")
    return parse_usage(
        _field(response, "usage"),
        dollars=_field(hidden, "response_cost"),
        headers=_field(hidden, "additional_headers") or _field(hidden, "headers"),
        is_from_cache=bool(_field(hidden, "cache_hit")),
    )


def parse_usage(
    usage: object, *, dollars: object = None, headers: object = None, is_from_cache: bool = False
) -> ResponseUsage:
    """Parse a usage object of OpenAI's or Anthropic's APIs."""
    prompt = _number(usage, "prompt_tokens")
    output = _number(usage, "completion_tokens")
    cached = _number(_field(usage, "prompt_tokens_details"), "cached_tokens")
    if not prompt and not output:
        cached = _number(usage, "cache_read_input_tokens")
        # Anthropic counts cached tokens in addition to `input_tokens`, OpenAI's Responses API as a part of them.
        prompt = _number(usage, "input_tokens") + cached + _number(usage, "cache_creation_input_tokens")
        output = _number(usage, "output_tokens")
        cached = cached or _number(_field(usage, "input_tokens_details"), "cached_tokens")
    total = max(_number(usage, "total_tokens"), prompt + output)
    return ResponseUsage(
        prompt_tokens=prompt,
        output_tokens=output,
        total_tokens=total,
        cached_tokens=cached,
        dollars=number(dollars) or 0.0,
        headers=headers if isinstance(headers, Mapping) else None,
        is_from_cache=is_from_cache,
        is_known=total > 0,
    )


def _field(value: object, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    return getattr(value, name, None)


def _number(value: object, name: str) -> float:
    return number(_field(value, name)) or 0.0
