"""Reading a request of OpenAI's API: a field is right, or the error says which one is not and why.

Codes and parameter names are those that OpenAI's API answers with; clients and gateways branch on them.
"""

from __future__ import annotations

from typing import Any

import orjson

from evenkeel_mock.errors import BadRequest

BAD = 400
_SAMPLING = (("temperature", 0, 2), ("top_p", 0, 1), ("presence_penalty", -2, 2), ("frequency_penalty", -2, 2))
_KINDS = {
    str: "a string",
    list: "an array",
    dict: "an object",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
}


def load(body: bytes) -> dict[str, Any]:
    """Return the fields of a body."""
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(BAD, f"The body of the request is not valid JSON: {error}.") from error
    if type(fields) is not dict:
        raise BadRequest(BAD, f"The body of the request must be a JSON object, not {kind(fields)}.")
    return fields


def kind(value: object) -> str:
    """Return what a JSON value is, in English."""
    return _KINDS.get(type(value), "null")


def missing(name: str) -> BadRequest:
    """Return the error of a field that has to be there."""
    return BadRequest(BAD, f"Missing required parameter: '{name}'.", name, "missing_required_parameter")


def wrong_type(name: str, value: object, expected: str) -> BadRequest:
    """Return the error of a field of the wrong type."""
    message = f"Invalid type for '{name}': expected {expected}, but got {kind(value)} instead."
    return BadRequest(BAD, message, name, "invalid_type")


def wrong_value(name: str, value: object, expected: str) -> BadRequest:
    """Return the error of a field that is none of the values it can have."""
    return BadRequest(BAD, f"Invalid value for '{name}': {value!r}. Expected {expected}.", name, "invalid_value")


def text(fields: dict[str, Any], name: str, path: str = "") -> str:
    """Return a text that has to be there."""
    value = fields.get(name)
    if type(value) is str and value:
        return value
    if value is None:
        raise missing(path or name)
    if value == "":
        raise BadRequest(BAD, f"Invalid '{path or name}': an empty string.", path or name, "empty_string")
    raise wrong_type(path or name, value, "a string")


def array(fields: dict[str, Any], name: str, of: str) -> list[Any]:
    """Return an array that has to be there and has something in it."""
    value = fields.get(name)
    if type(value) is list and value:
        return value
    if value is None:
        raise missing(name)
    if value == []:
        raise BadRequest(BAD, f"Invalid '{name}': empty array. Expected at least one.", name, "empty_array")
    raise wrong_type(name, value, f"an array of {of}")


def flag(fields: dict[str, Any], name: str) -> bool:
    """Return a truth value, false where there is none."""
    value = fields.get(name)
    if value is not None and type(value) is not bool:
        raise wrong_type(name, value, "a boolean")
    return value is True


def integer(fields: dict[str, Any], name: str, least: int, most: int | None = None) -> int | None:
    """Return a whole number within bounds, or None where there is none."""
    value = fields.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise wrong_type(name, value, "an integer")
    _bounded(name, value, least, most, "integer")
    return value


def decimal(fields: dict[str, Any], name: str, least: float, most: float) -> None:
    """Refuse a number that is out of bounds; one that is not there is fine."""
    value = fields.get(name)
    if value is None:
        return
    if type(value) is not float and type(value) is not int:
        raise wrong_type(name, value, "a decimal")
    _bounded(name, value, least, most, "decimal")


def sampling(fields: dict[str, Any]) -> None:
    """Refuse how a model shall be sampled, where that cannot be."""
    for name, least, most in _SAMPLING:
        if name in fields:
            decimal(fields, name, least, most)


def include_usage(fields: dict[str, Any], *, stream: bool) -> bool:
    """Return whether a stream ends with the usage."""
    options = fields.get("stream_options")
    if options is None:
        return False
    if not stream:
        raise BadRequest(BAD, "'stream_options' is only allowed when 'stream' is true.", "stream_options")
    if type(options) is not dict:
        raise wrong_type("stream_options", options, "an object")
    return flag(options, "include_usage")


def json(value: object) -> bytes:
    """Return a part of a request as JSON again."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        # What orjson reads may be nested four times deeper than what it writes.
        raise BadRequest(BAD, "The body of the request is nested too deeply.") from error


def _bounded(name: str, value: float, least: float, most: float | None, what: str) -> None:
    if value < least:
        edge, expected = "below_min", f">= {least}"
    elif most is not None and value > most:
        edge, expected = "above_max", f"<= {most}"
    else:
        return
    bound = edge.replace("_min", " minimum").replace("_max", " maximum")
    message = f"Invalid '{name}': {what} {bound} value. Expected a value {expected}, but got {value} instead."
    raise BadRequest(BAD, message, name, f"{what}_{edge}_value")
