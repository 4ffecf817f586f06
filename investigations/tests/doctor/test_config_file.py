"""A configuration is read as LiteLLM reads it, with the place of each key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.doctor import Facts, Level, check_config, read
from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from pathlib import Path


KEY = {"LITELLM_MASTER_KEY": "sk-0123456789abcdef"}


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        ("on: {a: 1}", "on: {b: 2}", "more.yaml:1"),
        ("1: {a: 1}", "'0': x\n1: {b: 2}", "more.yaml:2"),
        (".nan: 1", ".nan: 2", "more.yaml:1"),
        ("x: &x\n  section: {a: 1}\n<<: *x", "section: {b: 2}", "more.yaml:1"),
        ("section: {a: 1}", "x: &x\n  section: {b: 2}\n<<: *x", "more.yaml:2"),
    ],
)
def test_keys_that_are_not_text_are_merged(tmp_path: Path, first: str, second: str, where: str) -> None:
    (tmp_path / "proxy.yaml").write_text(f"include: [more.yaml]\n{first}\n")
    (tmp_path / "more.yaml").write_text(f"{second}\n")
    replaced = [problem for problem in read(tmp_path / "proxy.yaml").problems if "replaces" in problem.what]
    assert [problem.where for problem in replaced] == [where]
    assert all("the one of proxy.yaml" in problem.what for problem in replaced)


def test_keys_that_are_not_text_and_merged_keys_have_lines(tmp_path: Path) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text("base: &base\n  master_key: x\ngeneral_settings:\n  <<: *base\n  1: 2\n")
    config = read(file)
    assert config.where("general_settings", 1) == "proxy.yaml:5"
    assert config.where("general_settings", "master_key") == "proxy.yaml:2"


@pytest.mark.parametrize("entry", ["x" * 300, "a\0b", "loop", "proxy.yaml/below", ""])
def test_an_include_that_is_not_a_path_is_an_error(tmp_path: Path, entry: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    file = tmp_path / "proxy.yaml"
    file.write_text(json.dumps({"include": [entry]}))
    assert [problem.level for problem in read(file).problems] == [Level.ERROR]


def test_includes_are_merged_as_litellm_does(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "proxy.yaml").write_text(
        "include: [sub/more.yaml, sub/more.yaml, gone.yaml]\nmodel_list:\n  - model_name: a\ngeneral_settings: {x: 1}\n"
    )
    (tmp_path / "sub" / "more.yaml").write_text(
        "include: [nested.yaml, ../proxy.yaml]\nmodel_list:\n  - model_name: b\ngeneral_settings:\n  y: 2\n"
    )
    (tmp_path / "sub" / "nested.yaml").write_text("model_list:\n\n  - model_name: c\n")
    config = read(tmp_path / "proxy.yaml")
    assert [model["model_name"] for model in config.values["model_list"]] == ["a", "b", "c"]
    assert config.section("general_settings") == {"y": 2}
    assert "include" not in config.values
    assert config.where("model_list", 0, "model_name") == "proxy.yaml:3"
    assert config.where("model_list", 1) == "sub/more.yaml:3"
    assert config.where("model_list", 2, "model_name") == "nested.yaml:3"
    assert config.where("general_settings", "y", "deeper") == "sub/more.yaml:5"
    assert config.where("nowhere") == "proxy.yaml"
    includes = [(problem.level.value, problem.where) for problem in config.problems if problem.check == "include"]
    assert includes == [("warning", "sub/more.yaml:4"), ("error", "proxy.yaml:1")]


def test_sections_of_the_wrong_shape_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "proxy.conf"
    file.write_text("litellm_settings: [1]\nrouter_settings:\nmodel_list:\n  - just text\ninclude: more.yaml\n")
    config = read(file)
    assert {problem.level for problem in config.problems} == {Level.ERROR}
    assert [problem.where for problem in config.problems] == [
        "proxy.conf",
        "proxy.conf:1",
        "proxy.conf:4",
        "proxy.conf:5",
    ]
    assert check_config(config, KEY, Facts())[0].level is Level.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n",
        "just text",
        "a: [1\n",
        "a: *hunter2\n",
        "a: !hunter2 b\n",
        "\x00hunter2",
        "{[a]: b}",
        "a: 2026-99-99",
    ],
)
def test_an_invalid_configuration_is_wrong_use_and_is_not_quoted(tmp_path: Path, text: str) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text(text)
    with pytest.raises(WrongUse) as raised:
        read(file)
    assert "hunter2" not in str(raised.value)


def test_a_missing_configuration_is_wrong_use(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(WrongUse):
            read(path)


def test_anchors_that_repeat_or_contain_themselves_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text("general_settings: &a\n  self: *a\nother: [*a, *a]\n")
    config = read(file)
    assert config.where("general_settings", "self") == "proxy.yaml:2"
    assert check_config(config, KEY, Facts())
