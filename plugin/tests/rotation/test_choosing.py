from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.bars import Why
from litellm_evenkeel.rotation.holds import TRIAL_SECONDS
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.need import ONE, Need
from litellm_evenkeel.rotation.picks import Full, Reason
from litellm_evenkeel.rotation.signals import Signal

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.group import Group


def full(world: World, group: Group, asked: Asked | None = None) -> Full:
    found = world.pool.pick(group, asked or Asked())
    assert isinstance(found, Full)
    return found


def test_a_session_gets_its_account_as_long_as_it_is_open(world: World) -> None:
    group = world.group(*(world.seat(name, {"concurrent": 2}) for name in "abc"))
    asked = Asked(prefer="b")
    assert [world.pick(group, asked).reason for _ in range(2)] == [Reason.STICKY] * 2
    other = world.pick(group, asked)
    assert (other.reason, other.place.seat.id != "b") == (Reason.STRATEGY, True)


def test_what_was_tried_is_tried_again_only_when_there_is_no_other(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    pick = world.pick(group, Asked(tried=frozenset("a"), prefer="a"))
    assert pick.place.seat.id == "b"
    again = world.pick(group, Asked(tried=frozenset("ab")))
    assert again.reason is Reason.AGAIN


def test_if_all_are_held_by_guesses_the_one_that_ends_first_is_taken(world: World) -> None:
    group = world.group(*(world.seat(name) for name in "abc"))
    for name in "cab":
        leases = [world.pick(group, Asked(prefer=name)).lease for _ in range(4)]
        for lease in leases:
            world.pool.fail(lease, Signal(Kind.OVERLOADED, Scope.ACCOUNT, None, "busy"))
        world.now += 0.3
    pick = world.pick(group)
    assert (pick.place.seat.id, pick.reason) == ("c", Reason.SOONEST)


def test_what_a_provider_has_said_is_waited_for(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 30.0)
    world.hold(group, "b", 20.0)
    found = full(world, group)
    assert 20.0 <= found.opens_in <= 22.0
    assert found.bar is not None
    assert (found.bar.why, found.bar.is_sure) == (Why.HELD, True)


def test_if_all_have_died_there_is_no_hope(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    for name in "ab":
        world.hold(group, name, kind=Kind.PERMANENT)
    assert full(world, group).opens_in == math.inf


def test_of_nobody_nobody_is_chosen(world: World) -> None:
    assert full(world, world.group()).bar is None


@pytest.mark.parametrize("names", ["a", "ab"])
def test_a_retry_that_has_tried_all_learns_when_the_first_opens(world: World, names: str) -> None:
    group = world.group(*(world.seat(name) for name in names))
    for name in names:
        world.hold(group, name, 3.0)
    found = full(world, group, Asked(tried=frozenset(names)))
    # They are not dead: a client that comes back in time is answered.
    assert 3.0 <= found.opens_in <= 5.0
    assert found.bar is not None
    assert found.bar.why is Why.HELD


def test_a_retry_waits_for_what_it_has_tried_if_that_opens_first(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 3.0)
    world.hold(group, "b", 3600.0, Kind.QUOTA)
    assert full(world, group, Asked(tried=frozenset("a"))).opens_in <= 5.0


def test_a_smaller_request_fits_where_a_larger_one_did_not(world: World) -> None:
    group = world.group(world.seat("a", {"tpm": 1000}), world.seat("b", {"tpm": 1000}))
    for name in "ab":
        world.pool.settle(world.pick(group, Asked(Need(1, 700), prefer=name)).lease, Need(1, 700))
    assert full(world, group, Asked(Need(1, 500))).bar.why is Why.WINDOW
    assert world.pick(group, Asked(Need(1, 100))) is not None


def test_when_all_are_full_whatever_is_freed_is_found(world: World) -> None:
    group = world.group(*(world.seat(str(each), {"concurrent": 1}) for each in range(300)))
    leases = {lease.place.seat.id: lease for lease in (world.pick(group).lease for _ in range(300))}
    for _ in range(3):
        assert full(world, group).opens_in <= 1.0
    assert world.pool.known_full(group, Asked()) is not None
    world.pool.release(leases["217"])
    assert world.pool.known_full(group, Asked()) is None
    assert world.pick(group).place.seat.id == "217"
    full(world, group)


@pytest.mark.parametrize("number", [1, 100])
def test_what_is_freed_and_too_little_for_a_large_request_a_smaller_one_finds(world: World, number: int) -> None:
    group = world.group(*(world.seat(str(each), {"tpm": 1000}) for each in range(number)))
    leases = [world.pick(group, Asked(Need(1, 1000))).lease for _ in range(number)]
    full(world, group, Asked(Need(1, 100)))
    for lease in leases:
        world.pool.settle(lease, Need(1, 700))
    for _ in range(3):
        full(world, group, Asked(Need(1, 500)))
    for _ in range(number):
        world.pick(group, Asked(Need(1, 200)))
    full(world, group, Asked(Need(1, 200)))


def test_a_probe_is_one_request(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 5.0)
    world.now += 8
    probes = [world.pick(group) for _ in range(10)]
    assert [pick.reason for pick in probes if pick.place.seat.id == "a"] == [Reason.PROBE]


def test_who_is_on_the_way_back_gets_little_at_first(world: World) -> None:
    world.made("round_robin")
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 5.0)
    world.now += 8
    world.used(group, 4)
    world.now += 0.1
    early = world.used(group, 100)["a"]
    world.now += 5.0
    later = world.used(group, 100)["a"]
    assert early < 30
    assert later > 45


def test_alone_it_gets_all_of_it_even_on_its_way_back(world: World) -> None:
    group = world.group(world.seat("a"))
    world.hold(group, "a", 5.0)
    world.now += 8
    world.used(group, 1)
    assert {world.pick(group).reason for _ in range(5)} == {Reason.RAMP}


def guessed(world: World, names: str) -> Group:
    """Return accounts that are all held, by guesses."""
    group = world.group(*(world.seat(name) for name in names))
    for name in names:
        for lease in [world.pick(group, Asked(prefer=name)).lease for _ in range(4)]:
            world.pool.fail(lease, Signal(Kind.OVERLOADED, Scope.ACCOUNT, None, "busy"))
    return group


def test_while_only_guesses_hold_all_one_request_goes_to_each_and_others_wait_for_those(world: World) -> None:
    group = guessed(world, "ab")
    trials = [world.pick(group) for _ in range(2)]
    assert {pick.place.seat.id for pick in trials} == {"a", "b"}
    found = full(world, group)
    assert found.opens_in <= TRIAL_SECONDS
    assert found.bar.yields
    # Nobody is refused for a guess.
    assert world.pick(group, Asked(presses=True)).reason is Reason.SOONEST
    # One that comes back well lets all go there.
    world.pool.settle(trials[0].lease, ONE)
    assert {world.pick(group).place for _ in range(5)} == {trials[0].place}


def test_who_waits_for_a_trial_that_fails_waits_for_the_next_and_for_none_that_takes_long(world: World) -> None:
    group = guessed(world, "a")
    lease = world.pick(group).lease
    full(world, group)
    world.now += 0.1
    world.pool.fail(lease, Signal(Kind.OVERLOADED, Scope.ACCOUNT, None, "busy"))
    lease = world.pick(group).lease
    full(world, group)
    world.pool.release(lease)
    world.pick(group)
    full(world, group)
    world.now += TRIAL_SECONDS
    assert len([world.pick(group) for _ in range(5)]) == 5


def test_the_end_of_those_that_were_under_way_before_says_nothing_of_a_trial(world: World) -> None:
    group = world.group(world.seat("a"))
    early = [world.pick(group).lease for _ in range(6)]
    for number, lease in enumerate(early):
        world.now += 0.01
        world.pool.fail(lease, Signal(Kind.OVERLOADED, Scope.ACCOUNT, None, "busy"))
        if number == 3:
            world.pick(group)
    full(world, group)


def test_a_pinned_session_respects_the_way_back(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 5.0)
    world.now += 8
    world.pool.settle(world.pick(group, Asked(prefer="a")).lease, ONE)
    world.now += 0.2
    picks = [world.pick(group, Asked(prefer="a")) for _ in range(200)]
    early = sum(pick.place.seat.id == "a" for pick in picks)
    assert 0 < early < 120
    world.now += 5.0
    assert world.pick(group, Asked(prefer="a")).reason is Reason.STICKY


def test_of_those_that_were_freed_the_first_tier_is_used_first(world: World) -> None:
    world.made()
    group = world.group(
        world.seat("last", {"daily": {"tokens": 1000}}, priority=2),
        world.seat("first", {"daily": {"tokens": 1000}}, priority=1),
    )
    large = Need(1.0, 600.0)
    leases = [world.pick(group, Asked(large)).lease for _ in range(2)]
    assert isinstance(world.pool.pick(group, Asked(large)), Full)
    for lease in leases:
        world.pool.settle(lease, Need(1.0, 10.0))
    assert world.pick(group, Asked(large)).place.seat.id == "first"
