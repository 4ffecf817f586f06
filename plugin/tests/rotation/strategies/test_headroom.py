from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.limit_headers import Reading
from litellm_evenkeel.rotation.need import ONE, Need
from litellm_evenkeel.rotation.picks import Full

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.group import Group

RPM = {"a": 10, "b": 20, "c": 40, "d": 80}


def limited(world: World, amounts: dict[str, int]) -> Group:
    return world.group(*(world.seat(name, {"rpm": amount}) for name, amount in amounts.items()))


def test_unequal_limits_are_used_up_together(world: World) -> None:
    group = limited(world, RPM)
    half = world.used(group, 75)
    for name, amount in RPM.items():
        assert half[name] / amount == pytest.approx(0.5, abs=0.15), name
    all_of_it = half + world.used(group, 75)
    assert all_of_it == RPM
    assert isinstance(world.pool.pick(group, Asked()), Full)


def test_the_same_over_time_at_nearly_all_there_is(world: World) -> None:
    group = limited(world, RPM)
    refused = 0
    total = sum(RPM.values())
    for _ in range(5 * total):
        world.now += 60 / (0.9 * total)
        found = world.pool.pick(group, Asked())
        refused += isinstance(found, Full)
        if not isinstance(found, Full):
            world.pool.settle(found.lease, ONE)
    assert refused == 0


def preferred(world: World, group: Group, need: Need = ONE) -> str:
    """Return who is chosen every time."""
    names = set()
    for _ in range(10):
        pick = world.pick(group, Asked(need))
        names.add(pick.place.seat.id)
        world.pool.settle(pick.lease, Need(0, 0, 0))
    (name,) = names
    return name


def windows(world: World, **each: dict[str, object]) -> Group:
    return world.group(*(world.seat(name, limits) for name, limits in each.items()))


def told(world: World, group: Group, name: str, left: float, resets_in: float) -> None:
    """Let a provider tell what is left of the only limit."""
    place = next(one for one in group.places if one.seat.id == name)
    limit = place.account.windows[0].limit
    place.learn([Reading("requests", limit.seconds, limit.amount, left, None, resets_in)], world.now, world.now)


HOUR = {"windows": [{"for": "1h", "requests": 100}]}


def test_what_would_run_out_before_its_reset_is_avoided(world: World) -> None:
    group = windows(world, fast=HOUR, slow=HOUR)
    fast = group.places[0].account.windows[0]
    for _ in range(40):
        world.now += 1.0
        fast.take(world.now, 1.0)
    world.now += fast.limit.seconds / 60
    # Of both the same is left for the same time; only one of them is being used up.
    told(world, group, "fast", 60.0, 3600.0)
    told(world, group, "slow", 60.0, 3600.0)
    world.now += 1.0
    assert preferred(world, group) == "slow"
    # Used no longer, it comes to be as good as the other.
    scores = [group.strategy.score(each, place, Asked(), world.now) for each, place in enumerate(group.places)]
    world.now += 1500.0
    later = [group.strategy.score(each, place, Asked(), world.now) for each, place in enumerate(group.places)]
    assert scores[0] < 0.5 * scores[1]
    assert later[0] == pytest.approx(later[1])


def test_a_window_that_ends_soon_is_used_first(world: World) -> None:
    group = windows(world, later=HOUR, soon=HOUR)
    told(world, group, "later", 50.0, 3500.0)
    told(world, group, "soon", 50.0, 100.0)
    assert preferred(world, group) == "soon"


def test_large_requests_go_where_much_is_left(world: World) -> None:
    group = windows(world, little={"tpm": 10_000}, much={"tpm": 100_000})
    world.pool.settle(world.pick(group, Asked(prefer="little")).lease, Need(1, 2_000))
    world.pool.settle(world.pick(group, Asked(prefer="much")).lease, Need(1, 40_000))
    assert preferred(world, group, Need(1, 50)) == "little"
    assert preferred(world, group, Need(1, 7_500)) == "much"


def test_what_is_under_way_counts(world: World) -> None:
    group = windows(world, a={"concurrent": 4}, b={"concurrent": 12})
    for _ in range(12):
        world.pick(group)
    shares = [place.in_flight / place.account.concurrent for place in group.places]
    assert shares == pytest.approx([0.75, 0.75], abs=0.25)


def test_of_many_each_bears_what_it_can(world: World) -> None:
    group = world.group(*(world.seat(str(each), {"rpm": 10 if each % 2 else 30}) for each in range(60)))
    used = world.used(group, 600)
    small, large = (sum(used[str(each)] for each in range(start, 60, 2)) for start in (1, 0))
    assert small / 300 == pytest.approx(0.5, abs=0.1)
    assert large / 900 == pytest.approx(0.5, abs=0.1)
