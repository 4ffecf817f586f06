from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import World


def test_the_first_is_filled_before_the_second_is_touched(world: World) -> None:
    world.made("fill_first")
    candidates = world.group(*(world.seat(name, {"rpm": 10}) for name in "abc"))
    assert [world.pick(candidates).deployment.spec.id for _ in range(25)] == [*"a" * 10, *"b" * 10, *"c" * 5]


def test_the_first_is_first_again_as_soon_as_it_has_room(world: World) -> None:
    world.made("fill_first")
    candidates = world.group(world.seat("a", {"rpm": 5}), world.seat("b"))
    world.used(candidates, 8)
    world.now += 62
    assert set(world.used(candidates, 5)) == {"a"}
