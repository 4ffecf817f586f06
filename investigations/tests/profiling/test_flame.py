"""Flame graphs: every function as wide as its cost, drawn the same to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from evenkeel_lab.profiling.flame import boxes, flame, label

if TYPE_CHECKING:
    from evenkeel_lab.profiling.profile import Profile

SVG = "{http://www.w3.org/2000/svg}"


def test_the_same_profile_is_drawn_the_same(profile: Profile) -> None:
    taken = profile.arms["stock"]
    first = flame(taken, "a & b")
    backwards = dict(reversed(list(taken.stacks.items())))
    assert backwards == taken.stacks
    assert first == flame(taken, "a & b")
    root = ET.fromstring(first)  # noqa: S314  # our own
    told = [one.text or "" for one in root.iter(f"{SVG}title")]
    assert told[0].startswith("27.0 ms of CPU time per request")
    assert "litellm/router.py:complete: 12.00 ms per request, 44.4%" in told
    texts = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert {"LiteLLM 74 %", "complete  litellm/router.py"} <= set(texts)
    assert texts[0].startswith("a & b")
    assert not list(root.iter(f"{SVG}script"))


def test_children_stand_within_what_called_them(profile: Profile) -> None:
    found = {one.stack: one for one in boxes(profile.arms["stock"].stacks)}
    assert sum(one.width for one in found.values() if len(one.stack) == 1) == pytest.approx(1)
    for stack, one in found.items():
        if len(stack) > 1:
            below = found[stack[:-1]]
            assert below.left <= one.left
            assert one.left + one.width <= below.left + below.width + 1e-9


def test_a_label_takes_the_room_there_is() -> None:
    name = "litellm/router.py:Router.complete"
    assert [label(name, width) for width in (10, 60, 120, 300)] == [
        "",
        "Router.…",
        "Router.complete",
        "Router.complete  litellm/router.py",
    ]
