"""A callback that records the calls of its hooks. It runs in the proxy, as `recorder.recorder`.

Each call becomes one line of JSON with the arguments that can be rebuilt: scalars, lists and mappings as they are, and
with a tag (`"$"`) values that JSON cannot express: times, exceptions, the client's key, infinite numbers and NaN. Other
objects and all secrets are omitted; long texts are cut. A call is written immediately, because LiteLLM goes on changing
the arguments.
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
"""The recorded hooks, and the parameters of each in order."""
SECRET: Final = frozenset({"api_key", "authorization", "x-api-key", "cookie", "secret_fields", "jwt_claims"})
UNUSED: Final = frozenset(
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
"""Large values that our callback does not read."""
HASH: Final = r"[0-9a-f]{64}"
LONGEST_TEXT, MOST_ITEMS, DEEPEST = 120, 16, 12
OMITTED: Final = object()


def reduced(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON can express it, or `OMITTED`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, str)):
        plain = int(value) if isinstance(value, int) else str.__str__(value)
        return plain[:LONGEST_TEXT] if isinstance(plain, str) else plain
    for kind, write in WRITERS:
        if isinstance(value, kind):
            return write(value, depth)
    return OMITTED


def float_(value: float, _: int) -> Any:
    """Return a number, tagged if it is infinite or NaN."""
    return value if math.isfinite(value) else {"$": "float", "value": str(value)}


def time_(value: datetime, _: int) -> dict[str, str]:
    """Return a time, tagged."""
    return {"$": "datetime", "at": value.isoformat()}


def failure(value: BaseException, depth: int) -> dict[str, Any]:
    """Return an exception, tagged: its class and its attributes."""
    basics = {"message": str(value)[:LONGEST_TEXT], "args": [str(item)[:LONGEST_TEXT] for item in value.args]}
    attributes = {
        name: reduced(item, depth + 1) for name, item in sorted(vars(value).items()) if name not in UNUSED | SECRET
    }
    class_ = type(value)
    written = {name: item for name, item in (basics | attributes).items() if item is not OMITTED}
    return {"$": "exception", "class": f"{class_.__module__}.{class_.__qualname__}", "attributes": written}


def client_key(key: Any, depth: int) -> dict[str, Any]:
    """Return the client's key, tagged, without secrets."""
    fields = {name: getattr(key, name) for name in type(key).model_fields if name not in UNUSED | SECRET}
    written = mapping({name: value for name, value in fields.items() if value is not None}, depth)
    # The database stores a hash instead of the key; a hash is no secret.
    if re.fullmatch(HASH, key.api_key or ""):
        written["api_key"] = key.api_key
    return {"$": "auth", "fields": written}


def mapping(value: dict[Any, Any], depth: int) -> Any:
    """Return a mapping without secrets and without values that cannot be rebuilt."""
    if depth > DEEPEST:
        return OMITTED
    written = {
        key: reduced(item, depth + 1)
        for key, item in value.items()
        if isinstance(key, str) and key.lower() not in SECRET and key not in UNUSED
    }
    return {key: item for key, item in written.items() if item is not OMITTED}


def sequence(value: Any, depth: int) -> Any:
    """Return the first items of a list."""
    if depth > DEEPEST:
        return OMITTED
    written = (reduced(item, depth + 1) for item in list(value)[:MOST_ITEMS])
    return [item for item in written if item is not OMITTED]


def usage_of(value: Any, depth: int) -> Any:
    """Return only the usage of a response; `OMITTED` for any other object."""
    usage = getattr(value, "usage", None)
    return OMITTED if usage is None else {"usage": mapping(usage.model_dump(exclude_none=True), depth + 1)}


WRITERS: Final[tuple[tuple[Any, Callable[[Any, int], Any]], ...]] = (
    (float, float_),
    (datetime, time_),
    (BaseException, failure),
    (UserAPIKeyAuth, client_key),
    (dict, mapping),
    ((list, tuple, set, frozenset), sequence),
    (object, usage_of),
)


def recording_hook(name: str, parameters: tuple[str, ...], file: Path) -> Callable[..., Awaitable[None]]:
    """Return a method that appends each of its calls to `file`."""

    async def write(_: object, *positional: Any, **named: Any) -> None:
        given = dict(zip(parameters, positional, strict=False)) | named
        arguments = {parameter: reduced(given.get(parameter)) for parameter in parameters}
        line = {
            "hook": name,
            "arguments": {key: value if value is not OMITTED else None for key, value in arguments.items()},
        }
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")

    return write


FILE: Final = Path("events.jsonl")
"""In the working directory of the proxy, which is the folder of its configuration."""
recorder: Final = type(
    "Recorder",
    (custom_logger.CustomLogger,),
    {name: recording_hook(name, given, FILE) for name, given in HOOKS.items()},
)()
"""The callback that the configuration names."""
