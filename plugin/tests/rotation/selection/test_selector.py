from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.model.blocker import BlockReason, Certainty
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, PickRequest, Usage
from litellm_evenkeel.rotation.selection.pick import NoCapacity, PickReason
from litellm_evenkeel.rotation.state.cooldown import ESTIMATE_PROBE_PAUSE, ESTIMATE_PROBE_SECONDS

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet


def full(world: World, candidates: CandidateSet, request: PickRequest | None = None) -> NoCapacity:
    found = world.pool.pick(candidates, request or PickRequest())
    assert isinstance(found, NoCapacity)
    return found


def test_a_session_gets_its_account_as_long_as_it_is_open(world: World) -> None:
    candidates = world.group(*(world.seat(name, {"concurrent": 2}) for name in "abc"))
    request = PickRequest(preferred_account="b")
    assert [world.pick(candidates, request).reason for _ in range(2)] == [PickReason.PINNED] * 2
    other = world.pick(candidates, request)
    assert (other.reason, other.deployment.spec.id != "b") == (PickReason.STRATEGY, True)


def test_what_was_tried_is_tried_again_only_when_there_is_no_other(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    pick = world.pick(candidates, PickRequest(excluded=frozenset("a"), preferred_account="a"))
    assert pick.deployment.spec.id == "b"
    again = world.pick(candidates, PickRequest(excluded=frozenset("ab")))
    assert again.reason is PickReason.RETRY_SAME


def test_if_all_are_held_by_guesses_the_one_that_ends_first_is_taken(world: World) -> None:
    candidates = world.group(*(world.seat(name) for name in "abc"))
    for name in "cab":
        reservations = [world.pick(candidates, PickRequest(preferred_account=name)).reservation for _ in range(4)]
        for reservation in reservations:
            world.pool.fail(reservation, Failure(FailureKind.OVERLOADED, FailureScope.ACCOUNT, None, "busy"))
        world.now += 0.3
    pick = world.pick(candidates)
    assert (pick.deployment.spec.id, pick.reason) == ("c", PickReason.EARLIEST_RECOVERY)


def test_what_a_provider_has_said_is_waited_for(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 30.0)
    world.hold(candidates, "b", 20.0)
    found = full(world, candidates)
    assert 20.0 <= found.available_in <= 22.0
    assert found.blocker is not None
    assert (found.blocker.reason, found.blocker.certainty) == (BlockReason.COOLDOWN, Certainty.CONFIRMED)


def test_if_all_have_died_there_is_no_hope(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    for name in "ab":
        world.hold(candidates, name, kind=FailureKind.PERMANENT)
    assert full(world, candidates).available_in == math.inf


def test_of_nobody_nobody_is_chosen(world: World) -> None:
    assert full(world, world.group()).blocker is None


@pytest.mark.parametrize("names", ["a", "ab"])
def test_a_retry_that_has_tried_all_learns_when_the_first_opens(world: World, names: str) -> None:
    candidates = world.group(*(world.seat(name) for name in names))
    for name in names:
        world.hold(candidates, name, 3.0)
    found = full(world, candidates, PickRequest(excluded=frozenset(names)))
    # They are not dead: a client that comes back in time is answered.
    assert 3.0 <= found.available_in <= 5.0
    assert found.blocker is not None
    assert found.blocker.reason is BlockReason.COOLDOWN


def test_a_retry_waits_for_what_it_has_tried_if_that_opens_first(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 3.0)
    world.hold(candidates, "b", 3600.0, FailureKind.QUOTA)
    assert full(world, candidates, PickRequest(excluded=frozenset("a"))).available_in <= 5.0


def test_a_smaller_request_fits_where_a_larger_one_did_not(world: World) -> None:
    candidates = world.group(world.seat("a", {"tpm": 1000}), world.seat("b", {"tpm": 1000}))
    for name in "ab":
        world.pool.settle(
            world.pick(candidates, PickRequest(Usage(1, 700), preferred_account=name)).reservation, Usage(1, 700)
        )
    assert full(world, candidates, PickRequest(Usage(1, 500))).blocker.reason is BlockReason.LIMIT
    assert world.pick(candidates, PickRequest(Usage(1, 100))) is not None


def test_when_all_are_full_whatever_is_freed_is_found(world: World) -> None:
    candidates = world.group(*(world.seat(str(each), {"concurrent": 1}) for each in range(300)))
    reservations = {
        reservation.deployment.spec.id: reservation
        for reservation in (world.pick(candidates).reservation for _ in range(300))
    }
    for _ in range(3):
        assert full(world, candidates).available_in <= 1.0
    assert world.pool.cached_no_capacity(candidates, PickRequest()) is not None
    world.pool.release(reservations["217"])
    assert world.pool.cached_no_capacity(candidates, PickRequest()) is None
    assert world.pick(candidates).deployment.spec.id == "217"
    full(world, candidates)


@pytest.mark.parametrize("number", [1, 100])
def test_what_is_freed_and_too_little_for_a_large_request_a_smaller_one_finds(world: World, number: int) -> None:
    candidates = world.group(*(world.seat(str(each), {"tpm": 1000}) for each in range(number)))
    reservations = [world.pick(candidates, PickRequest(Usage(1, 1000))).reservation for _ in range(number)]
    full(world, candidates, PickRequest(Usage(1, 100)))
    for reservation in reservations:
        world.pool.settle(reservation, Usage(1, 700))
    for _ in range(3):
        full(world, candidates, PickRequest(Usage(1, 500)))
    for _ in range(number):
        world.pick(candidates, PickRequest(Usage(1, 200)))
    full(world, candidates, PickRequest(Usage(1, 200)))


def test_a_probe_is_one_request(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 5.0)
    world.now += 8
    probes = [world.pick(candidates) for _ in range(10)]
    assert [pick.reason for pick in probes if pick.deployment.spec.id == "a"] == [PickReason.PROBE]


def test_who_is_on_the_way_back_gets_little_at_first(world: World) -> None:
    world.made("round_robin")
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 5.0)
    world.now += 8
    world.used(candidates, 4)
    world.now += 0.1
    early = world.used(candidates, 100)["a"]
    world.now += 5.0
    later = world.used(candidates, 100)["a"]
    assert early < 30
    assert later > 45


def test_alone_it_gets_all_of_it_even_on_its_way_back(world: World) -> None:
    candidates = world.group(world.seat("a"))
    world.hold(candidates, "a", 5.0)
    world.now += 8
    world.used(candidates, 1)
    assert {world.pick(candidates).reason for _ in range(5)} == {PickReason.RAMP_UP}


def guessed(world: World, names: str) -> CandidateSet:
    """Return accounts that are all held, by guesses."""
    candidates = world.group(*(world.seat(name) for name in names))
    for name in names:
        for reservation in [world.pick(candidates, PickRequest(preferred_account=name)).reservation for _ in range(4)]:
            world.pool.fail(reservation, Failure(FailureKind.OVERLOADED, FailureScope.ACCOUNT, None, "busy"))
    world.now += ESTIMATE_PROBE_PAUSE
    return candidates


def test_while_only_guesses_hold_all_one_request_goes_to_each_and_others_wait_for_those(world: World) -> None:
    candidates = guessed(world, "ab")
    trials = [world.pick(candidates) for _ in range(2)]
    assert {pick.deployment.spec.id for pick in trials} == {"a", "b"}
    found = full(world, candidates)
    assert found.available_in <= ESTIMATE_PROBE_SECONDS
    assert found.blocker.may_be_exceeded
    # No request is rejected because of an estimate.
    assert world.pick(candidates, PickRequest(is_final_try=True)).reason is PickReason.EARLIEST_RECOVERY
    # One that comes back well lets all go there.
    world.pool.settle(trials[0].reservation, SINGLE_REQUEST)
    assert {world.pick(candidates).deployment for _ in range(5)} == {trials[0].deployment}


def test_who_waits_for_a_trial_that_fails_waits_for_the_next_and_for_none_that_takes_long(world: World) -> None:
    candidates = guessed(world, "a")
    reservation = world.pick(candidates).reservation
    full(world, candidates)
    world.now += 0.1
    world.pool.fail(reservation, Failure(FailureKind.OVERLOADED, FailureScope.ACCOUNT, None, "busy"))
    full(world, candidates)
    world.now += ESTIMATE_PROBE_PAUSE
    reservation = world.pick(candidates).reservation
    full(world, candidates)
    world.pool.release(reservation)
    world.pick(candidates)
    full(world, candidates)
    world.now += ESTIMATE_PROBE_SECONDS
    assert len([world.pick(candidates) for _ in range(5)]) == 5


def test_the_end_of_those_that_were_under_way_before_says_nothing_of_a_trial(world: World) -> None:
    candidates = world.group(world.seat("a"))
    early = [world.pick(candidates).reservation for _ in range(6)]
    for number, reservation in enumerate(early):
        world.now += 0.01
        world.pool.fail(reservation, Failure(FailureKind.OVERLOADED, FailureScope.ACCOUNT, None, "busy"))
        if number == 3:
            world.now += ESTIMATE_PROBE_PAUSE
            world.pick(candidates)
    full(world, candidates)


def test_a_pinned_session_respects_the_way_back(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 5.0)
    world.now += 8
    world.pool.settle(world.pick(candidates, PickRequest(preferred_account="a")).reservation, SINGLE_REQUEST)
    world.now += 0.2
    picks = [world.pick(candidates, PickRequest(preferred_account="a")) for _ in range(200)]
    early = sum(pick.deployment.spec.id == "a" for pick in picks)
    assert 0 < early < 120
    world.now += 5.0
    assert world.pick(candidates, PickRequest(preferred_account="a")).reason is PickReason.PINNED


def test_of_those_that_were_freed_the_first_tier_is_used_first(world: World) -> None:
    world.made()
    candidates = world.group(
        world.seat("last", {"daily": {"tokens": 1000}}, priority=2),
        world.seat("first", {"daily": {"tokens": 1000}}, priority=1),
    )
    large = Usage(1.0, 600.0)
    reservations = [world.pick(candidates, PickRequest(large)).reservation for _ in range(2)]
    assert isinstance(world.pool.pick(candidates, PickRequest(large)), NoCapacity)
    for reservation in reservations:
        world.pool.settle(reservation, Usage(1.0, 10.0))
    assert world.pick(candidates, PickRequest(large)).deployment.spec.id == "first"


def test_a_saturated_set_reports_the_earliest_end_that_the_request_has_just_found(world: World) -> None:
    candidates = world.group(world.seat("a", {"rpm": 1}), world.seat("b", {"concurrent": 1, "tpm": 1000}))
    large, small = PickRequest(Usage(1, 1000)), PickRequest(Usage(1, 50))
    reservations = {pick.deployment.spec.id: pick.reservation for pick in (world.pick(candidates, large) for _ in "ab")}
    world.pool.settle(reservations["a"], Usage(1, 1000))
    world.pool.settle(reservations["b"], Usage(1, 900))
    world.now += 1
    # For a large request, both accounts are blocked for a minute.
    assert full(world, candidates, large).available_in > 10
    world.pool.settle(world.pick(candidates, small).reservation, Usage(1, 10))
    world.pick(candidates, small)
    # Now the only slot of "b" blocks it as well, and may be free at any time. Its used-up limit counts all the same.
    assert full(world, candidates, large).available_in > 10
