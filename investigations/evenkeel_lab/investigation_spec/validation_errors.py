"""Error messages and hints for a file that is not valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_lab.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


def describe(error: ErrorDetails, *above: str) -> str:
    """Return a message with the error and its field, which is in the tables `above`."""
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
    """Return a hint about valid values; `kind` is the model of the file or table."""
    *above, name = error["loc"] or ("",)
    fields = _fields_at(kind, above)
    if error["type"] == "extra_forbidden":
        return nearest(str(name), fields)
    if error["type"] == "value_error" and len(arguments := error["ctx"]["error"].args) > 1:
        return str(arguments[1])
    if fields.get(str(name)):
        return f"It is this: {fields[str(name)]}"
    return "See docs/investigations.md."


def _fields_at(kind: type[BaseModel], path: Sequence[str | int]) -> dict[str, str]:
    """Return the fields of the table at `path` in the file, with their descriptions."""
    schema = kind.model_json_schema()

    def resolved(node: dict[str, Any]) -> dict[str, Any]:
        node = next((option for option in node.get("anyOf", ()) if "$ref" in option), node)
        return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    node = schema
    for part in path:
        fields = node.get("properties", {})
        others = [*node.get("patternProperties", {}).values(), node.get("additionalProperties"), node.get("items"), {}]
        node = resolved(fields[part] if part in fields else next(other for other in others if isinstance(other, dict)))
    return {name: field.get("description", "") for name, field in node.get("properties", {}).items()}
