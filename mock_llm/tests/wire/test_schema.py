from __future__ import annotations

from enum import Enum
from typing import Any, Literal
from uuid import UUID

import orjson
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field

from evenkeel_mock.wire.schema import instance


class Colour(Enum):
    RED = "red"


class Node(BaseModel):
    name: str
    child: Node | None
    children: list[Node]


class Everything(BaseModel):
    text: str = Field(min_length=30, max_length=40)
    short: str = Field(max_length=3)
    whole: int = Field(ge=5, le=9)
    above: int = Field(gt=5)
    below: float = Field(lt=-1)
    stepped: int = Field(ge=7, multiple_of=5)
    some: list[float] = Field(min_length=2)
    maybe: int | None
    colour: Colour
    literal: Literal["a", "b"]
    one_of: UUID | int
    truth: bool
    node: Node


def test_what_a_class_describes_is_an_instance_of_it() -> None:
    found = Everything.model_validate_json(orjson.dumps(instance(Everything.model_json_schema())))
    assert found.stepped == 10
    assert found.node.child is not None


def test_a_schema_that_contains_itself_comes_to_an_end() -> None:
    endless = {"$ref": "#"}
    assert instance(endless) is None
    required = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert orjson.dumps(instance(required))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, None),
        (True, None),
        ({"type": "object"}, {}),
        ({"type": ["string", "null"], "maxLength": 6}, "steady"),
        ({"type": "string", "format": "date"}, "2025-01-31"),
        ({"type": "array", "items": {"const": 1}, "minItems": 3}, [1, 1, 1]),
        ({"type": "array", "maxItems": 0}, []),
        ({"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]}, {"a": 1, "b": 2}),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": 7}}}, 7),
        ({"$ref": "elsewhere.json"}, None),
    ],
)
def test_a_value(schema: Any, value: object) -> None:
    assert instance(schema) == value


NAMES = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "minItems",
        "maxLength",
        "minLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "format",
        "a",
    ]
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "#", "#/a", "a", "date"])
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | TYPES
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5))


@given(JSON)
def test_any_schema_whatever_gives_a_value(schema: object) -> None:
    orjson.dumps(instance(schema))
