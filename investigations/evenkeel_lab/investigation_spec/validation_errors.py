"""What is wrong with a file, in words of its fields, and what may stand there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


def what(error: ErrorDetails, *above: str) -> str:
    """Say what is wrong, and in which field; `above` names the tables that it stands in."""
    where = ".".join(map(str, (*above, *error["loc"])))
    match error["type"]:
        case "extra_forbidden":
            return f"there is no field {where!r}"
        case "missing":
            return f"{where} is missing"
        case "value_error":
            message = str(error["ctx"]["error"].args[0])
            return f"{where}: {message}" if where else message
        case _:
            return f"{where}: {error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}"


def hint(kind: type[BaseModel], error: ErrorDetails) -> str:
    """Say what may stand there instead; `kind` is what the file, or the part of it, should have been."""
    *above, name = error["loc"] or ("",)
    fields = _fields_at(kind, above)
    if error["type"] == "extra_forbidden":
        return nearest(str(name), fields)
    if error["type"] == "value_error" and len(told := error["ctx"]["error"].args) > 1:
        return str(told[1])
    if fields.get(str(name)):
        return f"It is this: {fields[str(name)]}"
    return "docs/investigations.md says what may be."


def _fields_at(kind: type[BaseModel], place: Sequence[str | int]) -> dict[str, str]:
    """Return the fields that a place in the file may have, and what they say of themselves."""
    schema = kind.model_json_schema()

    def resolved(node: dict[str, Any]) -> dict[str, Any]:
        node = next((one for one in node.get("anyOf", ()) if "$ref" in one), node)
        return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    node = schema
    for part in place:
        fields = node.get("properties", {})
        named = [*node.get("patternProperties", {}).values(), node.get("additionalProperties"), node.get("items"), {}]
        node = resolved(fields[part] if part in fields else next(one for one in named if isinstance(one, dict)))
    return {name: field.get("description", "") for name, field in node.get("properties", {}).items()}
