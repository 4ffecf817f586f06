"""A profile's file: the same when it is read again, small, refused when it is of another kind."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import WrongUse
from evenkeel_lab.profiling.profile import MOST_BYTES, Profile, read, write
from evenkeel_lab.profiling.stacks import Stack, functions

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_read_is_what_was_written(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write(profile, path)
    assert read(path) == profile
    first = path.read_bytes()
    write(read(path), path)
    assert path.read_bytes() == first
    assert [one.name for one in tmp_path.iterdir()] == ["profile.json"]


def test_a_file_stays_small_whatever_was_sampled_and_loses_no_cpu(profile: Profile, tmp_path: Path) -> None:
    source = random.Random(1)  # no secret
    stacks: dict[Stack, int] = {}
    for _ in range(900):
        stack: Stack = ()
        for depth in range(source.randrange(20, 60)):
            stack += (f"package/module_{depth}.py:a_long_function_{source.choice((0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5))}",)
        stacks[stack] = source.randrange(5_000, 15_000)
    whole = sum(stacks.values())
    large = replace(profile.arms["off"], stacks=stacks, functions=functions(stacks))
    path = tmp_path / "profile.json"
    write(replace(profile, arms={f"arm-{number}": large for number in range(4)}), path)
    assert path.stat().st_size < MOST_BYTES
    found = read(path).arms["arm-3"]
    assert sum(found.stacks.values()) == sum(one.own for one in found.functions.values()) == whole


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ("[]", "of schema None"),
        ('{"schema": 99}', "of schema 99"),
        ('{"schema": 1}', "is damaged"),
        ('{"schema": 1, "names": [], "arms": {"off": {"functions": [], "stacks": {}}}}', "is damaged"),
    ],
)
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(WrongUse, match=told):
        read(path)


def test_a_profile_that_was_cut_is_refused(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write(profile, path)
    document = json.loads(path.read_text())
    document["arms"]["off"]["stacks"]["own"].pop()
    path.write_text(json.dumps(document))
    with pytest.raises(WrongUse, match="is damaged"):
        read(path)
