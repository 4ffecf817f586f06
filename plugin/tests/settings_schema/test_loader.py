"""A tree of dataclasses from a mapping, and the environment over it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping  # noqa: TC003 - settings are read by their annotations
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.settings_schema.loader import leaves, overlaid, read
from litellm_evenkeel.settings_schema.types import Count, Factor, Period, Seconds, Secret, Share


class Color(StrEnum):
    RED = "red"
    DARK_BLUE = "dark_blue"


@dataclass(frozen=True, slots=True)
class Thing:
    size: Count = 1


@dataclass(frozen=True, slots=True)
class Inner:
    first_step: Period = 1.0
    step: Seconds = 0.0
    things: Mapping[str, Thing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deeper(Inner):
    share: Share = 0.5


@dataclass(frozen=True, slots=True)
class Tree:
    on: bool = True
    color: Color = Color.RED
    colors: tuple[Color, ...] = (Color.RED,)
    factor: Factor = 2.0
    text: str = ""
    key: Secret | None = None
    inner: Deeper = field(default_factory=Deeper)


def test_what_is_not_told_keeps_its_default() -> None:
    assert (
        read(Tree, None)
        == read(Tree, {})
        == read(Tree, {"inner": {"things": None}})
        == read(Tree, {"inner": None})
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
        ({"key": "sk-1"}, Tree(key=Secret("sk-1"))),
        ({"inner": {"first_step": "1m30s"}}, Tree(inner=Deeper(first_step=90.0))),
        ({"inner": {"step": 0}}, Tree(inner=Deeper(step=0.0))),
        ({"inner": {"share": 1}}, Tree(inner=Deeper(share=1.0))),
        ({"inner": {"things": {"a": {"size": 3}, 4: {}}}}, Tree(inner=Deeper(things={"a": Thing(3), "4": Thing()}))),
        ({"inner": {"things": '{"a": {"size": 3}}'}}, Tree(inner=Deeper(things={"a": Thing(3)}))),
    ],
)
def test_a_tree_is_read(told: dict[str, object], expected: Tree) -> None:
    assert read(Tree, told) == expected


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([1], "the settings: this is a mapping"),
        ({"colour": "red"}, "the settings: there is no 'colour'. Did you mean color?"),
        ({"inner": {"first": 1}}, "inner: there is no 'first'. Did you mean first_step?"),
        ({"inner": 7}, "inner: this is a mapping"),
        ({"key": None}, "key: nothing is written here, or a variable that is not set"),
        ({"inner": {"step": None}}, "inner.step: nothing is written"),
        ({"inner": {"things": {"a": {"sise": 3}}}}, "inner.things.a: there is no 'sise'. Did you mean size?"),
        ({"inner": {"things": "{"}}, "inner.things: this is not JSON"),
        ({"on": "perhaps"}, "on: 'perhaps' is no switch. Write on or off."),
        ({"color": "dark-blue"}, "color: there is no 'dark-blue'. Did you mean dark_blue?"),
        ({"colors": [1]}, r"colors\[1\]: there is no '1'. There are red, dark_blue."),
        ({"colors": 1}, "colors: this is a list."),
        ({"factor": 0.5}, "factor: '0.5' cannot be. Write a number of 1 or more."),
        ({"factor": True}, "factor: 'True' cannot be"),
        ({"factor": float("nan")}, "factor: 'nan' cannot be"),
        ({"factor": "1s"}, "factor: '1s' cannot be"),
        ({"text": 1}, "text: '1' is no text. Put it in quotes."),
        ({"inner": {"first_step": 0}}, "inner.first_step: '0' cannot be. Write a duration, such as 10s, 5m or 7d."),
        ({"inner": {"step": -1}}, "inner.step: '-1' cannot be. .*; 0 for none."),
        ({"inner": {"share": 1.5}}, "inner.share: '1.5' cannot be. Write a number from 0 to 1."),
        ({"inner": {"things": {"a": {"size": 1.5}}}}, "size: '1.5' cannot be. Write .*, without a fraction."),
        ({"inner": {"things": {"a": {"size": -1}}}}, "size: '-1' cannot be."),
        ({"inner": {"things": {"a": {"size": "--5"}}}}, "size: '--5' cannot be."),
        ({"inner": {"things": {"a": {"size": "9" * 5000}}}}, "size: '9{40}' cannot be."),
    ],
)
def test_what_cannot_be_is_refused_with_its_place_and_its_cure(told: object, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read(Tree, told)


def test_what_has_no_default_must_be_told() -> None:
    @dataclass(frozen=True)
    class Needs:
        name: str

    with pytest.raises(SettingsError, match=r"here\.name: this is missing"):
        read(Needs, {}, "here")


def test_a_secret_is_in_no_repr_and_in_no_error() -> None:
    assert "sk-1" not in repr(read(Tree, {"key": "sk-1"}))
    for told in ({"key": ["sk-1"]}, {"color": "redis://:sk-1@host"}, {"inner": "sk-1"}, {"on": "u:sk-1@host"}):
        with pytest.raises(SettingsError) as raised:
            read(Tree, told)
        assert "sk-1" not in str(raised.value)


def test_a_variable_is_laid_over_what_the_file_says() -> None:
    file = {"factor": 3, "inner": {"step": 1, "first_step": "2s"}}
    variables = {"EVENKEEL_INNER_FIRST_STEP": "5m", "EVENKEEL_ON": "off", "EVENKEEL_INNER_THINGS": '{"a": {}}'}
    assert read(Tree, overlaid(Tree, file, variables)) == Tree(
        on=False, factor=3.0, inner=Deeper(step=1.0, first_step=300.0, things={"a": Thing()})
    )
    assert file == {"factor": 3, "inner": {"step": 1, "first_step": "2s"}}


def test_a_variable_finds_its_place_where_nothing_is() -> None:
    assert overlaid(Tree, None, {"EVENKEEL_INNER_STEP": "1"}) == {"inner": {"step": "1"}}
    assert overlaid(Tree, {"inner": None}, {"EVENKEEL_INNER_STEP": "1"}) == {"inner": {"step": "1"}}


def test_an_empty_variable_is_none() -> None:
    assert overlaid(Tree, None, {"EVENKEEL_ON": ""}) == {}


@pytest.mark.parametrize("variable", ["EVENKEEL_CACHE", "PATH", "EVENKEELON", "evenkeel_on"])
def test_what_belongs_to_others_is_left_alone(variable: str) -> None:
    assert overlaid(Tree, None, {variable: "x"}) == {}


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("EVENKEEL_COLOUR", "there is no EVENKEEL_COLOUR. Did you mean EVENKEEL_COLOR?"),
        ("EVENKEEL_INER_STEP", "Did you mean EVENKEEL_INNER_STEP?"),
        ("EVENKEEL_INNER_ZEBRA_CROSSING_LIGHTS", "Unset it"),
    ],
)
def test_a_variable_that_there_is_not_is_refused(variable: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        overlaid(Tree, None, {variable: "x"})


def test_a_variable_cannot_be_laid_over_what_is_no_mapping() -> None:
    with pytest.raises(SettingsError, match="inner: this is a mapping, so EVENKEEL_INNER_STEP"):
        overlaid(Tree, {"inner": 3}, {"EVENKEEL_INNER_STEP": "1"})


names = st.sampled_from([leaf.path[-1] for leaf in leaves(Tree)]) | st.sampled_from(["inner", "zebra"]) | st.integers()
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = st.recursive(scalars, lambda x: st.dictionaries(names, x) | st.lists(x))


@given(anything)
def test_whatever_is_written_it_is_read_or_refused_as_settings_are(told: Any) -> None:
    with contextlib.suppress(SettingsError):
        assert isinstance(read(Tree, told), Tree)
