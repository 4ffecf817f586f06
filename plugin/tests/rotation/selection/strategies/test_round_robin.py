from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import World


def test_each_has_its_turn(world: World) -> None:
    world.made("round_robin")
    candidates = world.group(*(world.seat(name, weight=5 if name == "b" else 1) for name in "abc"))
    assert [world.pick(candidates).deployment.spec.id for _ in range(7)] == list("abcabca")


def test_turns_are_fair_while_some_are_shut_and_when_they_open(world: World) -> None:
    world.made("round_robin")
    candidates = world.group(*(world.seat(name) for name in "abcde"))
    world.used(candidates, 7)
    world.hold(candidates, "c", 10.0)
    for name, count in world.used(candidates, 40).items():
        assert count == pytest.approx(10, abs=1), name
    world.now += 15
    # The one that was shut is on its way back for a moment.
    world.used(candidates, 5)
    world.now += 5
    used = world.used(candidates, 50)
    assert len(used) == 5
    for name, count in used.items():
        assert count == pytest.approx(10, abs=1), name
