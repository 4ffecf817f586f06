"""Settings from a mapping, and the environment over it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping  # noqa: TC003 - settings are read by their annotations
from enum import StrEnum
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st
from pydantic import Field

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.loader import leaves, load
from litellm_evenkeel.settings_schema.types import (
    Count,
    Duration,
    Factor,
    PositiveDuration,
    Ratio,
    RedisUrl,
    ServerUrl,
    SettingsModel,
    Switch,
    Text,
)


class Color(StrEnum):
    RED = "red"
    DARK_BLUE = "dark_blue"


class Thing(SettingsModel):
    size: Count = 1


class Inner(SettingsModel):
    RENAMED: ClassVar[Mapping[str, str]] = {"pace": "step"}

    first_step: PositiveDuration = 1.0
    step: Duration = 0.0
    things: Mapping[str, Thing] = Field(default_factory=dict)


class Deeper(Inner):
    share: Ratio = 0.5


class Tree(SettingsModel):
    on: Switch = True
    color: Color = Color.RED
    colors: tuple[Color, ...] = (Color.RED,)
    factor: Factor = 2.0
    text: Text = ""
    store: RedisUrl | None = None
    inner: Deeper = Field(default_factory=Deeper)


def with_things(**things: Thing) -> Tree:
    return Tree(inner=Deeper(things=things))


def test_what_is_not_told_keeps_its_default() -> None:
    assert (
        load(Tree, None)
        == load(Tree, {})
        == load(Tree, {"inner": {"things": None}})
        == load(Tree, {"inner": None})
        == Tree()
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"on": False}, Tree(on=False)),
        ({"on": "off"}, Tree(on=False)),
        ({"color": "dark_blue"}, Tree(color=Color.DARK_BLUE)),
        ({"colors": ["dark_blue", "red"]}, Tree(colors=(Color.DARK_BLUE, Color.RED))),
        ({"colors": "dark_blue, red"}, Tree(colors=(Color.DARK_BLUE, Color.RED))),
        ({"colors": []}, Tree(colors=())),
        ({"factor": 3}, Tree(factor=3.0)),
        ({"factor": "2.5"}, Tree(factor=2.5)),
        ({"text": "x"}, Tree(text="x")),
        ({"store": "redis://h"}, Tree(store=ServerUrl("redis://h"))),
        ({"inner": {"first_step": "1m30s"}}, Tree(inner=Deeper(first_step=90.0))),
        ({"inner": {"step": 0}}, Tree(inner=Deeper(step=0.0))),
        ({"inner": {"share": 1}}, Tree(inner=Deeper(share=1.0))),
        (
            {"inner": {"things": {"a": {"size": 3}, "4": {}}}},
            Tree(inner=Deeper(things={"a": Thing(size=3), "4": Thing()})),
        ),
        ({"inner": {"things": '{"a": {"size": 3}}'}}, with_things(a=Thing(size=3))),
    ],
)
def test_a_tree_is_read(told: dict[str, object], expected: Tree) -> None:
    assert load(Tree, told) == expected


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([1], "the settings: expected a mapping of names to values, got list."),
        ({"colour": "red"}, "the settings: unknown setting 'colour'. Hint: did you mean color?"),
        ({"inner": {"first": 1}}, "inner: unknown setting 'first'. Hint: did you mean first_step?"),
        ({"inner": {"pace": 1}}, "inner: 'pace' was renamed. Hint: write step."),
        ({"inner": 7}, "inner: expected a mapping"),
        ({"store": None}, "store: expected a value, got none. Hint: set its variable"),
        ({"inner": {"step": None}}, "inner.step: expected a value, got none."),
        ({"inner": {"things": {"a": {"sise": 3}}}}, "inner.things.a: unknown setting 'sise'. Hint: did you mean size?"),
        ({"inner": {"things": "{"}}, "inner.things: expected a mapping; in the environment as JSON"),
        ({"on": "perhaps"}, "on: expected `on` or `off`, got 'perhaps'."),
        ({"color": "dark-blue"}, "color: expected .*, got 'dark-blue'. Hint: did you mean dark_blue?"),
        ({"colors": [1]}, r"colors\[1\]: expected .*, got '1'. Hint: write one of red, dark_blue."),
        ({"colors": 1}, "colors: expected a list"),
        ({"factor": 0.5}, "factor: expected a number of 1 or more, got '0.5'."),
        ({"factor": True}, "factor: expected .*, got 'True'"),
        ({"factor": float("nan")}, "factor: expected .*, got 'nan'"),
        ({"factor": "1s"}, "factor: expected .*, got '1s'"),
        ({"text": 1}, "text: expected a text, got '1'."),
        ({"inner": {"first_step": 0}}, "inner.first_step: expected a duration, such as 10s, 5m or 7d, above 0, got '0"),
        ({"inner": {"step": -1}}, "inner.step: expected a duration, .*; 0 for none, got '-1'."),
        ({"inner": {"share": 1.5}}, "inner.share: expected a number from 0 to 1, got '1.5'."),
        ({"inner": {"things": {"a": {"size": 1.5}}}}, "size: expected a whole number of 0 or more, got '1.5'."),
        ({"inner": {"things": {"a": {"size": -1}}}}, "size: expected .*, got '-1'."),
        ({"inner": {"things": {"a": {"size": "--5"}}}}, "size: expected .*, got '--5'."),
        ({"inner": {"things": {"a": {"size": "9" * 5000}}}}, "size: expected .*, got '9{40}'."),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_and_its_cure(told: object, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load(Tree, told)


def test_a_secret_is_in_no_repr_and_in_no_error() -> None:
    assert "sk-1" not in repr(load(Tree, {"store": "redis://:sk-1@h"}))
    for told in ({"store": ["sk-1"]}, {"store": "sk-1"}, {"color": "redis://:sk-1@host"}, {"on": "u:sk-1@host"}):
        with pytest.raises(SettingsError) as raised:
            load(Tree, told)
        assert "sk-1" not in str(raised.value)


def test_a_variable_is_laid_over_what_the_file_says() -> None:
    file = {"factor": 3, "inner": {"step": 1, "first_step": "2s"}}
    variables = {"EVENKEEL_INNER_FIRST_STEP": "5m", "EVENKEEL_ON": "off", "EVENKEEL_INNER_THINGS": '{"a": {}}'}
    assert load(Tree, file, environ=variables) == Tree(
        on=False, factor=3.0, inner=Deeper(step=1.0, first_step=300.0, things={"a": Thing()})
    )
    assert file == {"factor": 3, "inner": {"step": 1, "first_step": "2s"}}


def test_a_variable_finds_its_place_where_nothing_is() -> None:
    variables = {"EVENKEEL_INNER_STEP": "1"}
    assert load(Tree, None, environ=variables) == load(Tree, {"inner": None}, environ=variables)
    assert load(Tree, None, environ=variables).inner.step == 1


def test_an_empty_variable_is_none() -> None:
    assert load(Tree, None, environ={"EVENKEEL_ON": ""}) == Tree()


@pytest.mark.parametrize("variable", ["EVENKEEL_CACHE", "PATH", "EVENKEELON", "evenkeel_on"])
def test_what_belongs_to_others_is_left_alone(variable: str) -> None:
    assert load(Tree, None, environ={variable: "x"}) == Tree()


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("EVENKEEL_COLOUR", "unknown variable EVENKEEL_COLOUR. Hint: did you mean EVENKEEL_COLOR?"),
        ("EVENKEEL_INER_STEP", "did you mean EVENKEEL_INNER_STEP?"),
        ("EVENKEEL_INNER_ZEBRA_CROSSING_LIGHTS", "unset it"),
    ],
)
def test_a_variable_that_there_is_not_is_refused(variable: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        load(Tree, None, environ={variable: "x"})


def test_a_variable_cannot_be_laid_over_what_is_no_mapping() -> None:
    with pytest.raises(SettingsError, match="inner: expected a mapping, because EVENKEEL_INNER_STEP"):
        load(Tree, {"inner": 3}, environ={"EVENKEEL_INNER_STEP": "1"})


names = st.sampled_from([leaf.path[-1] for leaf in leaves(Tree)]) | st.sampled_from(["inner", "zebra"]) | st.integers()
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(scalars, lambda x: st.dictionaries(names, x) | st.lists(x))


@given(anything)
def test_whatever_is_written_it_is_read_or_refused_as_settings_are(told: Any) -> None:
    with contextlib.suppress(SettingsError):
        assert isinstance(load(Tree, told), Tree)
