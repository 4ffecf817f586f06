"""A callback that writes down what LiteLLM tells callbacks: run in the proxy, as `recorder.recorder`.

Each call becomes a line of JSON, reduced to what can be rebuilt: scalars, lists and mappings as they are, with a tag
(`"$"`) what JSON has no word for: times, exceptions, the caller's key, numbers that are none. What is none of these,
and whatever holds a secret, is left out; texts are cut to a few words. It is written at once, because LiteLLM goes on
changing what it has handed out.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

custom_logger: Final = importlib.import_module("litellm.integrations.custom_logger")
UserAPIKeyAuth: Final = importlib.import_module("litellm.proxy._types").UserAPIKeyAuth

HOOKS: Final[Mapping[str, tuple[str, ...]]] = {
    "async_log_success_event": ("kwargs", "response_obj", "start_time", "end_time"),
    "async_log_failure_event": ("kwargs", "response_obj", "start_time", "end_time"),
    "async_post_call_failure_hook": ("request_data", "original_exception", "user_api_key_dict", "traceback_str"),
    "log_success_fallback_event": ("original_model_group", "kwargs", "original_exception"),
    "log_failure_fallback_event": ("original_model_group", "kwargs", "original_exception"),
}
"""Which calls are written down, and what they are given, in order."""
SECRET: Final = frozenset({"api_key", "authorization", "x-api-key", "cookie", "secret_fields", "jwt_claims"})
HEAVY: Final = frozenset(
    {
        "additional_args",
        "async_complete_streaming_response",
        "body",
        "complete_streaming_response",
        "log_event_type",
        "model_cost_information",
        "original_response",
        "raw_request",
        "raw_request_body",
        "traceback_str",
        "error_str",
        "traceback",
        "model_map_information",
        "model_map_value",
        "debug_info",
        "cost_breakdown",
    }
)
"""Pages of what no callback of ours reads."""
HASH: Final = r"[0-9a-f]{64}"
LONGEST_TEXT, MOST_ITEMS, DEEPEST = 120, 16, 12
OMITTED: Final = object()


def reduced(value: Any, depth: int = 0) -> Any:
    """Return what can be written of a value, or `OMITTED`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, str)):
        plain = int(value) if isinstance(value, int) else str.__str__(value)
        return plain[:LONGEST_TEXT] if isinstance(plain, str) else plain
    for kind, write in WRITERS:
        if isinstance(value, kind):
            return write(value, depth)
    return OMITTED


def number(value: float, _: int) -> Any:
    """Return a number, tagged if JSON has none like it."""
    return value if math.isfinite(value) else {"$": "float", "value": str(value)}


def moment(value: datetime, _: int) -> dict[str, str]:
    """Return a point of time."""
    return {"$": "datetime", "at": value.isoformat()}


def failure(value: BaseException, depth: int) -> dict[str, Any]:
    """Return an exception: which it is, and what it knows."""
    told = {"message": str(value)[:LONGEST_TEXT], "args": [str(one)[:LONGEST_TEXT] for one in value.args]}
    known = {name: reduced(one, depth + 1) for name, one in sorted(vars(value).items()) if name not in HEAVY | SECRET}
    kind = type(value)
    held = {name: one for name, one in (told | known).items() if one is not OMITTED}
    return {"$": "exception", "class": f"{kind.__module__}.{kind.__qualname__}", "attributes": held}


def caller(value: Any, depth: int) -> dict[str, Any]:
    """Return what is known of the caller's key."""
    fields = {name: getattr(value, name) for name in type(value).model_fields if name not in HEAVY | SECRET}
    told = mapping({name: one for name, one in fields.items() if one is not None}, depth)
    # A key of the database is known by its hash only, also here.
    if re.fullmatch(HASH, value.api_key or ""):
        told["api_key"] = value.api_key
    return {"$": "auth", "fields": told}


def mapping(value: dict[Any, Any], depth: int) -> Any:
    """Return a mapping without secrets, and without what cannot be rebuilt."""
    if depth > DEEPEST:
        return OMITTED
    found = {
        key: reduced(one, depth + 1)
        for key, one in value.items()
        if isinstance(key, str) and key.lower() not in SECRET and key not in HEAVY
    }
    return {key: one for key, one in found.items() if one is not OMITTED}


def items(value: Any, depth: int) -> Any:
    """Return the first items of a list."""
    if depth > DEEPEST:
        return OMITTED
    found = (reduced(one, depth + 1) for one in list(value)[:MOST_ITEMS])
    return [one for one in found if one is not OMITTED]


def answer(value: Any, depth: int) -> Any:
    """Return of an answer what it says of its usage."""
    usage = getattr(value, "usage", None)
    return OMITTED if usage is None else {"usage": mapping(usage.model_dump(exclude_none=True), depth + 1)}


WRITERS: Final[tuple[tuple[Any, Callable[[Any, int], Any]], ...]] = (
    (float, number),
    (datetime, moment),
    (BaseException, failure),
    (UserAPIKeyAuth, caller),
    (dict, mapping),
    ((list, tuple, set, frozenset), items),
    (object, answer),
)


def hook(name: str, parameters: tuple[str, ...], place: Path) -> Callable[..., Awaitable[None]]:
    """Return a method that writes down each call."""

    async def write(_: object, *positional: Any, **named: Any) -> None:
        given = dict(zip(parameters, positional, strict=False)) | named
        told = {parameter: reduced(given.get(parameter)) for parameter in parameters}
        line = {"hook": name, "arguments": {key: one if one is not OMITTED else None for key, one in told.items()}}
        with place.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")

    return write


PLACE: Final = Path("events.jsonl")
"""Beside the configuration: that is where a proxy of the lab runs."""
recorder: Final = type(
    "Recorder", (custom_logger.CustomLogger,), {name: hook(name, given, PLACE) for name, given in HOOKS.items()}
)()
"""What a configuration names."""
