"""The functions that a request of OpenAI's API offers, and which of them it wants called.

Chat completions wrap a function's name and parameters in an object of their own, responses do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel_mock.wire.answer import Tool
from evenkeel_mock.wire.reading import text, wrong_type, wrong_value

if TYPE_CHECKING:
    from collections.abc import Iterable

CHOICES = ("none", "auto", "required")
ANY_OBJECT = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
"""Schema of an answer that may be any JSON object."""


def read(fields: dict[str, Any], *, wrapped: bool) -> tuple[Tool | None, bool]:
    """Return the function that a call would be of, and whether the request demands one.

    Tools that are no functions are left to a provider that has them: they are accepted and never called.
    """
    tools = fields.get("tools")
    choice = fields.get("tool_choice")
    if tools is None:
        if choice is not None and choice not in ("none", "auto"):
            raise wrong_value("tool_choice", choice, "it only where 'tools' are given")
        return None, False
    if type(tools) is not list:
        raise wrong_type("tools", tools, "an array of objects")
    functions = [_function(tool, number, wrapped=wrapped) for number, tool in enumerate(tools)]
    offered = [tool for tool in functions if tool is not None]
    return _chosen(choice, offered, wrapped=wrapped)


def schema(shape: object, name: str, *, wrapped: bool) -> dict[str, Any] | None:
    """Return the schema that a text must follow, of `response_format` or of `text.format`."""
    if shape is None:
        return None
    if type(shape) is not dict:
        raise wrong_type(name, shape, "an object")
    match shape.get("type"):
        case "text":
            return None
        case "json_object":
            return ANY_OBJECT
        case "json_schema":
            field_path = f"{name}.json_schema" if wrapped else name
            holder: Any = shape.get("json_schema") if wrapped else shape
            if type(holder) is not dict:
                raise wrong_type(field_path, holder, "an object")
            text(holder, "name", f"{field_path}.name")
            given = holder.get("schema")
            if given is not None and type(given) is not dict:
                raise wrong_type(f"{field_path}.schema", given, "an object")
            return given or ANY_OBJECT
        case other:
            raise wrong_value(f"{name}.type", other, "one of 'text', 'json_object', 'json_schema'")


def _function(tool: object, number: int, *, wrapped: bool) -> Tool | None:
    field_path = f"tools[{number}]"
    if type(tool) is not dict:
        raise wrong_type(field_path, tool, "an object")
    if text(tool, "type", f"{field_path}.type") != "function":
        return None
    holder: Any = tool
    if wrapped:
        field_path = f"{field_path}.function"
        holder = tool.get("function")
        if type(holder) is not dict:
            raise wrong_type(field_path, holder, "an object")
    parameters = holder.get("parameters")
    if parameters is not None and type(parameters) is not dict:
        raise wrong_type(f"{field_path}.parameters", parameters, "an object")
    return Tool(text(holder, "name", f"{field_path}.name"), parameters or {"type": "object"})


def _chosen(choice: object, offered: list[Tool], *, wrapped: bool) -> tuple[Tool | None, bool]:
    first = offered[0] if offered else None
    if choice is None or choice == "auto":
        return first, False
    if choice == "none":
        return None, False
    if choice == "required":
        return first, first is not None
    if type(choice) is not dict:
        raise wrong_value("tool_choice", choice, "one of 'none', 'auto', 'required', or an object")
    if choice.get("type") == "allowed_tools":
        return _allowed(choice.get("allowed_tools") if wrapped else choice, offered, wrapped=wrapped)
    if choice.get("type") != "function":
        return None, False
    name = _name(choice, wrapped=wrapped)
    for tool in offered:
        if tool.name == name:
            return tool, True
    raise wrong_value("tool_choice", name, "the name of one of the 'tools'")


def _allowed(subset: object, offered: list[Tool], *, wrapped: bool) -> tuple[Tool | None, bool]:
    if type(subset) is not dict or not isinstance(subset.get("tools"), list):
        raise wrong_type("tool_choice", subset, "an object with 'mode' and 'tools'")
    names = _names(subset["tools"], wrapped=wrapped)
    tool = next((tool for tool in offered if tool.name in names), None)
    return tool, tool is not None and subset.get("mode") == "required"


def _names(tools: Iterable[object], *, wrapped: bool) -> set[str]:
    return {_name(tool, wrapped=wrapped) for tool in tools if type(tool) is dict and tool.get("type") == "function"}


def _name(tool: dict[str, Any], *, wrapped: bool) -> str:
    holder = tool.get("function") if wrapped else tool
    if type(holder) is not dict:
        raise wrong_type("tool_choice.function", holder, "an object")
    return text(holder, "name", "tool_choice.function.name" if wrapped else "tool_choice.name")
