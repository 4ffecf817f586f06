"""Mistakes in the section of the plugin: each is reported with its own line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.doctor.config_file import read
from evenkeel_lab.doctor.plugin_section import keys_of, section

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
litellm_settings:
  callbacks: [litellm_evenkeel.proxy.rotation]
evenkeel:
  rotation:
    strategy: fast
    cooldown:
      initial: 10s
      maximum: 5m
    accounts:
      my.account:
        weight: heavy
        limits: {windows: [{for: 5h, requests: 10}, {for: soon, requests: 1}]}
"""


def test_each_mistake_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "proxy.yaml"
    path.write_text(TEXT)
    found = {finding.where: finding.what for finding in section(read(path), {})}
    assert "strategy: expected" in found["proxy.yaml:5"]
    assert "unknown setting 'maximum'" in found["proxy.yaml:8"]
    assert "weight" in found["proxy.yaml:11"]


@pytest.mark.parametrize(
    ("problem", "keys"),
    [
        ("evenkeel.rotation.strategy: expected x, got y.", ["evenkeel", "rotation", "strategy"]),
        ("evenkeel.rotation: unknown setting 'colour'. Hint", ["evenkeel", "rotation", "colour"]),
        ("evenkeel.accounts.a.b.weight: expected a number", ["evenkeel", "accounts", "a.b", "weight"]),
        ("evenkeel.list[2].x: expected", ["evenkeel", "list", 1, "x"]),
        ("evenkeel.list[9].x: expected", ["evenkeel", "list"]),
        ("environment: unknown variable EVENKEEL_X.", ["evenkeel"]),
        ("something else", ["evenkeel"]),
    ],
)
def test_the_keys_of_a_problem_are_found(problem: str, keys: list[str | int]) -> None:
    values = {
        "evenkeel": {
            "rotation": {"strategy": 1, "colour": 2},
            "accounts": {"a": {}, "a.b": {"weight": "x"}},
            "list": [{}, {"x": 1}],
        }
    }
    assert keys_of(problem, values) == keys
