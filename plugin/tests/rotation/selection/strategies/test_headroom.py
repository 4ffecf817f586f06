from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.providers.limit_headers import LimitReading
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, PickRequest, Usage
from litellm_evenkeel.rotation.selection.pick import NoCapacity

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet

RPM = {"a": 10, "b": 20, "c": 40, "d": 80}


def limited(world: World, amounts: dict[str, int]) -> CandidateSet:
    return world.group(*(world.seat(name, {"rpm": amount}) for name, amount in amounts.items()))


def test_unequal_limits_are_used_up_together(world: World) -> None:
    candidates = limited(world, RPM)
    half = world.used(candidates, 75)
    for name, amount in RPM.items():
        assert half[name] / amount == pytest.approx(0.5, abs=0.15), name
    all_of_it = half + world.used(candidates, 75)
    assert all_of_it == RPM
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)


def test_the_same_over_time_at_nearly_all_there_is(world: World) -> None:
    candidates = limited(world, RPM)
    refused = 0
    total = sum(RPM.values())
    for _ in range(5 * total):
        world.now += 60 / (0.9 * total)
        found = world.pool.pick(candidates, PickRequest())
        refused += isinstance(found, NoCapacity)
        if not isinstance(found, NoCapacity):
            world.pool.settle(found.reservation, SINGLE_REQUEST)
    assert refused == 0


def preferred(world: World, candidates: CandidateSet, usage: Usage = SINGLE_REQUEST) -> str:
    """Return who is chosen every time."""
    names = set()
    for _ in range(10):
        pick = world.pick(candidates, PickRequest(usage))
        names.add(pick.deployment.spec.id)
        world.pool.settle(pick.reservation, Usage(0, 0, 0))
    (name,) = names
    return name


def windows(world: World, **each: dict[str, object]) -> CandidateSet:
    return world.group(*(world.seat(name, limits) for name, limits in each.items()))


def told(world: World, candidates: CandidateSet, name: str, left: float, resets_in: float) -> None:
    """Apply a limit reading of the only limit."""
    deployment = next(one for one in candidates.deployments if one.spec.id == name)
    limit = deployment.account.windows[0].limit
    deployment.apply_readings(
        [LimitReading("requests", limit.seconds, limit.amount, left, None, resets_in)],
        world.now,
        world.now,
        lambda _: [],
    )


HOUR = {"windows": [{"for": "1h", "requests": 100}]}


def test_what_would_run_out_before_its_reset_is_avoided(world: World) -> None:
    candidates = windows(world, fast=HOUR, slow=HOUR)
    fast = candidates.deployments[0].account.windows[0]
    for _ in range(40):
        world.now += 1.0
        fast.take(world.now, 1.0)
    world.now += fast.limit.seconds / 60
    # Of both the same is left for the same time; only one of them is being used up.
    told(world, candidates, "fast", 60.0, 3600.0)
    told(world, candidates, "slow", 60.0, 3600.0)
    world.now += 1.0
    assert preferred(world, candidates) == "slow"
    # Used no longer, it comes to be as good as the other.
    scores = [candidates.strategy.score(each, PickRequest(), world.now) for each in range(len(candidates.deployments))]
    world.now += 1500.0
    later = [candidates.strategy.score(each, PickRequest(), world.now) for each in range(len(candidates.deployments))]
    assert scores[0] < 0.5 * scores[1]
    assert later[0] == pytest.approx(later[1])


def test_a_window_that_ends_soon_is_used_first(world: World) -> None:
    candidates = windows(world, later=HOUR, soon=HOUR)
    told(world, candidates, "later", 50.0, 3500.0)
    told(world, candidates, "soon", 50.0, 100.0)
    assert preferred(world, candidates) == "soon"


def test_large_requests_go_where_much_is_left(world: World) -> None:
    candidates = windows(world, little={"tpm": 10_000}, much={"tpm": 100_000})
    world.pool.settle(world.pick(candidates, PickRequest(preferred_account="little")).reservation, Usage(1, 2_000))
    world.pool.settle(world.pick(candidates, PickRequest(preferred_account="much")).reservation, Usage(1, 40_000))
    assert preferred(world, candidates, Usage(1, 50)) == "little"
    assert preferred(world, candidates, Usage(1, 7_500)) == "much"


def test_what_is_under_way_counts(world: World) -> None:
    candidates = windows(world, a={"concurrent": 4}, b={"concurrent": 12})
    for _ in range(12):
        world.pick(candidates)
    shares = [deployment.in_flight / deployment.account.concurrent for deployment in candidates.deployments]
    assert shares == pytest.approx([0.75, 0.75], abs=0.25)


def test_of_many_each_bears_what_it_can(world: World) -> None:
    candidates = world.group(*(world.seat(str(each), {"rpm": 10 if each % 2 else 30}) for each in range(60)))
    used = world.used(candidates, 600)
    small, large = (sum(used[str(each)] for each in range(start, 60, 2)) for start in (1, 0))
    assert small / 300 == pytest.approx(0.5, abs=0.1)
    assert large / 900 == pytest.approx(0.5, abs=0.1)
