"""Changes of YAML texts: what they mean afterwards, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from evenkeel_lab.config_edit.yaml_text import YamlText

# A proxy's configuration in several styles.
STYLES = {
    "block": "a:  # first\n  b: 1  # one\n  c:\n    - x\n    - y  # last\n\n# about d\nd: {}\n",
    "flow": "a: {b: 1, c: [x, y]}  # all\nd: {}\n",
    "mixed": "d: {}\n\na:\n  c: [x, y]\n  # about b\n  b: 1\n",
    "no line break at the end": "d: {}\na:\n  b: 1\n  c:\n  - x\n  - y",
}


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_values_are_set_appended_and_replaced(text: str) -> None:
    document = YamlText(text)
    document.set(("a", "b"), "2")
    document.set(("a", "new", "deep"), "here")
    document.append(("a", "c"), "z")
    document.append(("d", "list"), "one")
    document.append(("d", "list"), "two")
    document.set(("e",), "last")
    assert document.values == {
        "a": {"b": 2, "c": ["x", "y", "z"], "new": {"deep": "here"}},
        "d": {"list": ["one", "two"]},
        "e": "last",
    }
    assert comments(document.text) == comments(text)


def test_a_single_value_becomes_a_list() -> None:
    document = YamlText("a: x  # why\n")
    document.append(("a",), "y")
    assert document.text == "a: [x, y]  # why\n"


def test_an_empty_section_is_filled() -> None:
    document = YamlText("a:\n# about b\nb:\n  c:\n")
    document.set(("a", "x"), "1")
    document.set(("b", "c", "y"), "2")
    assert document.values == {"a": {"x": 1}, "b": {"c": {"y": 2}}}


def test_a_pair_is_added_to_an_item_of_a_list() -> None:
    document = YamlText("list:\n  - name: a\n    params:\n      key: k   # secret\n  # second\n  - name: b\n")
    document.set(("list", 0, "info", "account"), "x")
    document.set(("list", 1, "info"), "{account: y}")
    assert document.values["list"] == [
        {"name": "a", "params": {"key": "k"}, "info": {"account": "x"}},
        {"name": "b", "info": {"account": "y"}},
    ]
    assert "  # second\n  - name: b" in document.text


def test_text_blocks_and_multiline_values_are_left_whole() -> None:
    text = "a:\n  prompt: |\n    one\n\n    two\n\n  # about x\n  x: 'it''s\n    folded'\nz: 1\n"
    document = YamlText(text)
    before = document.values
    document.set(("a", "new"), "1")
    assert document.values == {**before, "a": {**before["a"], "new": 1}}
    document = YamlText("a:\n  x: 'it\n\n    #'\n")
    document.set(("a", "new"), "1")
    assert document.values == {"a": {"x": "it\n#", "new": 1}}
    document = YamlText("a:\n  prompt: |\n    one\n    two\n")
    document.set(("a", "new"), "1")
    assert document.values == {"a": {"prompt": "one\ntwo\n", "new": 1}}


KEYS = st.sampled_from(["a", "b", "c", "model_list", "litellm_settings"])
TREES = st.recursive(
    st.one_of(st.integers(-5, 5), st.text("ab #:'\"\n{}[]-", max_size=8), st.none(), st.booleans()),
    lambda below: st.one_of(st.dictionaries(KEYS, below, max_size=3), st.lists(below, max_size=3)),
    max_leaves=12,
)


@given(tree=st.dictionaries(KEYS, TREES, min_size=1, max_size=4), flow=st.sampled_from([None, False, True]))
def test_a_new_value_changes_nothing_else(tree: dict[str, Any], flow: bool | None) -> None:  # noqa: FBT001
    text = yaml.safe_dump(tree, default_flow_style=flow, sort_keys=False)
    document = YamlText(text)
    document.set(("new", "deep"), "1")
    assert document.values == {**tree, "new": {"deep": 1}}
    parent = next(iter(tree))
    if isinstance(tree[parent], dict):
        document.set((parent, "new"), "2")
        assert document.values == {**tree, parent: {**tree[parent], "new": 2}, "new": {"deep": 1}}
