"""A small value that a JSON schema allows: the arguments of a function call, the body of a structured answer.

It covers what SDKs generate from classes: types, properties, arrays, enums, unions, references, bounds and the common
formats. Patterns are not followed. Any schema whatever gives a value: what is not understood is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenkeel_mock.errors import BadRequest

TEXT = "steady as she goes"
FORMATS = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "duration": "PT1M",
    "email": "keel@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
# A schema may contain itself: from here on only what is required, and further down nothing at all.
_SHALLOW, _DEEPEST = 4, 12
# What a request may blow an answer up to.
_MOST_ITEMS, _MOST_CHARACTERS = 16, 1024
_MOST_VALUES = 10_000
_LEAST_STEP = 1e-9
_BAD = 400


class _Root:
    """The whole schema, and how many values may still be made for it."""

    def __init__(self, schema: object) -> None:
        self.schema = schema
        self.left = _MOST_VALUES


def instance(schema: object) -> Any:
    """Return a value that follows the schema, or raise `BadRequest` if it asks for too much."""
    return _value(schema, _Root(schema), 0)


def _value(schema: object, root: _Root, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    root.left -= 1
    if root.left < 0:
        raise BadRequest(_BAD, f"The schema asks for more than {_MOST_VALUES} values.")
    if "const" in schema:
        return schema["const"]
    if "$ref" in schema:
        return _value(_referred(schema["$ref"], root.schema), root, depth + 1)
    for name in ("enum", "anyOf", "oneOf", "allOf"):
        options = schema.get(name)
        if isinstance(options, list) and options:
            return _of_options(name, options, root, depth)
    write = _TYPES.get(_type(schema))
    return write(schema, root, depth) if write else None


def _of_options(name: str, options: list[object], root: _Root, depth: int) -> Any:
    if name == "enum":
        return options[0]
    if name == "allOf":
        return _all(options, root, depth)
    null = {"type": "null"}
    option = options[0] if depth <= _SHALLOW else null if null in options else options[-1]
    return _value(option, root, depth + 1)


def _array(schema: Mapping[str, Any], root: _Root, depth: int) -> list[Any]:
    wanted = 1 if depth <= _SHALLOW and schema.get("maxItems") != 0 else 0
    least = min(_count(schema.get("minItems")), _MOST_ITEMS)
    return [_value(schema.get("items"), root, depth + 1) for _ in range(max(least, wanted))]


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kind, list) and kind:
        kind = kind[0]
    return kind if isinstance(kind, str) else "null"


def _object(schema: Mapping[str, Any], root: _Root, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = schema.get("required")
    wanted = properties if depth <= _SHALLOW or not isinstance(required, list) else required
    return {
        name: _value(properties[name], root, depth + 1)
        for name in wanted
        if isinstance(name, str) and name in properties
    }


def _all(parts: Sequence[object], root: _Root, depth: int) -> Any:
    values = [_value(part, root, depth + 1) for part in parts]
    objects = [value for value in values if isinstance(value, dict)]
    if not objects:
        return values[0]
    return {name: value for part in objects for name, value in part.items()}


def _referred(reference: object, root: object) -> object:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node = root
    for name in reference.split("/")[1:]:
        if not isinstance(node, Mapping):
            return None
        node = node.get(name.replace("~1", "/").replace("~0", "~"))
    return node


def _text(schema: Mapping[str, Any]) -> str:
    shape = schema.get("format")
    text = FORMATS.get(shape, TEXT) if isinstance(shape, str) else TEXT
    least = min(_count(schema.get("minLength")), _MOST_CHARACTERS)
    if "maxLength" in schema:
        text = text[: max(least, _count(schema["maxLength"]))]
    return text.ljust(least, ".")


def _number(schema: Mapping[str, Any]) -> float:
    step = max(_real(schema.get("multipleOf")) or 1, _LEAST_STEP)
    least, most = _real(schema.get("minimum")), _real(schema.get("maximum"))
    above, below = _real(schema.get("exclusiveMinimum")), _real(schema.get("exclusiveMaximum"))
    if least is None and above is not None:
        least = above + step
    if most is None and below is not None:
        most = below - step
    value: float = step if least is None else math.ceil(least / step) * step
    return value if most is None or value <= most else most


_TYPES: dict[str, Callable[[Mapping[str, Any], _Root, int], Any]] = {
    "array": _array,
    "boolean": lambda _schema, _root, _depth: True,
    "integer": lambda schema, _root, _depth: math.ceil(_number(schema)),
    "number": lambda schema, _root, _depth: _number(schema),
    "object": _object,
    "string": lambda schema, _root, _depth: _text(schema),
}


def _real(value: object) -> float | None:
    # Whatever a request says: neither a truth value nor anything too large to reckon with.
    fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
    return value if fits else None  # type: ignore[return-value]  # narrowed above


def _count(value: object) -> int:
    return max(0, math.ceil(_real(value) or 0))
