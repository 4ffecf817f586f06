from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.held import Held
from litellm_evenkeel.rotation.holds import State
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.limit_headers import Reading
from litellm_evenkeel.rotation.limits import Limit, Limits, Unit
from litellm_evenkeel.rotation.need import Need
from litellm_evenkeel.rotation.picks import Full, Pick
from litellm_evenkeel.rotation.pool import Pool
from litellm_evenkeel.rotation.seat import Seat
from litellm_evenkeel.rotation.signals import Signal
from litellm_evenkeel.rotation.terms import RotationTerms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conftest import World


def test_what_was_reserved_becomes_what_was_used(world: World) -> None:
    group = world.group(world.seat("a", {"tpm": 1000}))
    window = group.places[0].account.windows[0]
    lease = world.pick(group, Asked(Need(1, 300))).lease
    assert window.left(world.now) == 700
    world.pool.settle(lease, Need(1, 120))
    assert window.left(world.now) == 880
    world.pool.settle(lease, Need(1, 999))
    assert window.left(world.now) == 880
    world.pool.release(world.pick(group, Asked(Need(1, 300))).lease)
    assert window.left(world.now) == 880


def test_one_that_used_more_than_it_was_thought_to_counts_in_full(world: World) -> None:
    group = world.group(world.seat("a", {"tpm": 1000}))
    world.pool.settle(world.pick(group, Asked(Need(1, 100))).lease, Need(1, 600))
    assert group.places[0].account.windows[0].left(world.now) == 400


def test_leases_of_which_nothing_is_heard_are_given_back(world: World) -> None:
    world.made(lease=60.0)
    group = world.group(world.seat("a", {"concurrent": 2, "tpm": 1000}))
    leases = [world.pick(group, Asked(Need(1, 400))).lease for _ in range(2)]
    assert isinstance(world.pool.pick(group, Asked()), Full)
    world.now += 61
    assert isinstance(world.pool.pick(group, Asked(Need(1, 900))), Pick)
    assert not leases[0].is_open
    assert group.places[0].in_flight == 1


def test_who_is_heard_of_late_after_all_is_settled_once(world: World) -> None:
    world.made(lease=60.0)
    group = world.group(world.seat("a", {"tpm": 1000, "rpm": 10}))
    place = group.places[0]
    lease = world.pick(group, Asked(Need(1, 400))).lease
    world.now += 61
    world.pool.expire(world.now)
    tokens, requests = (place.account.windows[each].left(world.now) for each in (1, 0))
    readings = (Reading("input-tokens", None, 500.0, 50.0, None, 30.0),)
    for _ in range(2):
        world.pool.settle(lease, Need(1, 300), latency=60.0, readings=readings)
    assert [place.account.windows[each].left(world.now) for each in (1, 0)] == [tokens - 300, requests]
    assert (place.in_flight, place.account.in_flight) == (0, 0)
    assert [window.left(world.now) for window in place.model.windows] == [50]


def test_the_end_of_one_that_gave_up_or_failed_is_no_longer_counted(world: World) -> None:
    group = world.group(world.seat("a", {"tpm": 1000}))
    given_up, failed = (world.pick(group, Asked(Need(1, 100))).lease for _ in range(2))
    world.pool.release(given_up)
    world.pool.fail(failed, Signal(Kind.CLIENT, Scope.NOTHING, None, "bad request"))
    for lease in (given_up, failed):
        world.pool.settle(lease, Need(1, 300))
    assert group.places[0].account.windows[0].left(world.now) == 1000


def test_accounts_are_one_over_all_their_models(world: World) -> None:
    limits = Limits.of({"rpm": 3}, "a")
    small, large = (
        world.pool.group(model, [Seat(f"a-{model}", "a", model, limits=limits)]) for model in ("small", "large")
    )
    for group in (small, large, small):
        world.pick(group)
    assert isinstance(world.pool.pick(large, Asked()), Full)


@pytest.mark.parametrize(("scope", "other_is_held"), [(Scope.ACCOUNT, True), (Scope.ACCOUNT_MODEL, False)])
def test_a_hold_reaches_as_far_as_its_signal(world: World, scope: Scope, *, other_is_held: bool) -> None:
    small, large = (world.pool.group(model, [Seat(f"a-{model}", "a", model)]) for model in ("small", "large"))
    world.pool.fail(world.pick(small).lease, Signal(Kind.QUOTA, scope, 100.0, "used up"))
    assert isinstance(world.pool.pick(small, Asked()), Full)
    assert isinstance(world.pool.pick(large, Asked()), Full) == other_is_held


def test_a_clients_own_fault_holds_nobody(world: World) -> None:
    group = world.group(world.seat("a"))
    for _ in range(10):
        world.pool.fail(world.pick(group).lease, Signal(Kind.CLIENT, Scope.NOTHING, None, "bad request"))
    assert isinstance(world.pool.pick(group, Asked()), Pick)


def test_others_are_told_and_what_they_tell_is_believed(world: World) -> None:
    told: list[Held] = []
    world.made(tell=told.append)
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 50.0)
    assert [(one.account, one.model, one.kind, one.is_told) for one in told] == [("a", None, Kind.RATE_LIMIT, True)]
    world.made()
    group = world.group(world.seat("a"), world.seat("b"))
    world.pool.hold(told[0])
    assert set(world.used(group, 10)) == {"b"}
    assert len(told) == 1


def test_what_was_heard_of_an_account_before_it_was_known_holds(world: World) -> None:
    world.pool.hold(Held("a", None, Kind.QUOTA, "used up", world.now + 100, is_told=True))
    world.pool.hold(Held("b", "m", Kind.PERMANENT, "no such model", math.inf, is_told=True))
    group = world.group(world.seat("a"), world.seat("b"), world.seat("c"))
    assert set(world.used(group, 10)) == {"c"}


def test_an_operator_releases_an_account_and_all_are_told(world: World) -> None:
    told: list[Held] = []
    world.made(tell=told.append)
    group = world.group(world.seat("a"))
    world.hold(group, "a", kind=Kind.PERMANENT)
    assert isinstance(world.pool.pick(group, Asked()), Full)
    assert world.pool.release_account("a")
    assert told[-1].kind is None
    assert isinstance(world.pool.pick(group, Asked()), Pick)
    assert not world.pool.release_account("nobody")


def test_limits_that_a_provider_tells_are_kept(world: World) -> None:
    group = world.group(world.seat("a"))
    readings = (Reading("requests", None, 100.0, 2.0, None, 30.0),)
    world.pool.settle(world.pick(group).lease, Need(1, 0), readings=readings)
    # It may not have counted the request that it answered.
    found = [world.pool.pick(group, Asked()) for _ in range(3)]
    assert isinstance(found[0], Pick)
    assert isinstance(found[2], Full)
    world.now += 31
    assert isinstance(world.pool.pick(group, Asked()), Pick)


def test_a_deployment_that_has_changed_keeps_what_was_used(world: World) -> None:
    world.used(world.group(world.seat("a", {"rpm": 5})), 5)
    group = world.group(world.seat("a", {"rpm": 5}, weight=3))
    assert isinstance(world.pool.pick(group, Asked()), Full)
    assert len(world.pool.places) == 1
    assert len(group.places[0].account.places) == 1


def test_a_deployment_that_is_no_more_is_forgotten(world: World) -> None:
    group = world.group(world.seat("a", {"rpm": 5}), world.seat("b"))
    place = group.places[0]
    world.pool.forget(place)
    assert place not in place.account.places
    assert list(world.pool.places) == [("b", "m")]
    assert group.places[1].groups == []


def test_what_providers_ask_for_is_believed_up_to_a_point(world: World) -> None:
    group = world.group(world.seat("a"), world.seat("b"))
    world.hold(group, "a", 1e9)
    hold = group.places[0].account.hold
    assert hold.state(world.now) is State.HELD
    assert hold.until <= world.now + world.pool.terms.holds.longest_rate_limit + 10


def test_an_account_whose_key_was_replaced_is_tried_again(world: World) -> None:
    seat = world.seat("a")
    group = world.group(seat)
    world.pool.fail(world.pick(group).lease, Signal(Kind.PERMANENT, Scope.ACCOUNT, None, "revoked"))
    same = world.group(replace(seat, id="another"))
    assert isinstance(world.pool.pick(same, Asked()), Full)
    replaced = world.group(replace(seat, id="replaced", credential="that of a new key"))
    assert isinstance(world.pool.pick(replaced, Asked()), Pick)


REVOKED = Signal(Kind.PERMANENT, Scope.ACCOUNT, None, "revoked")


def test_what_others_say_of_a_key_that_was_replaced_concerns_nobody_who_uses_the_new_one(world: World) -> None:
    told: list[Held] = []
    world.made(tell=told.append)
    old, new = (replace(world.seat("a"), credential=key) for key in ("old", "new"))
    world.pool.fail(world.pick(world.group(old)).lease, REVOKED)
    assert told[-1].credential == "old"
    # As after a restart: what was left in Redis is read before anybody asks for an account.
    world.made()
    world.pool.hold(told[-1])
    assert isinstance(world.pool.pick(world.group(new), Asked()), Pick)
    # And as on the running worker, while others still use the old key.
    world.pool.hold(told[-1])
    assert isinstance(world.pool.pick(world.group(new), Asked()), Pick)
    # Who takes the old key up again is told.
    assert isinstance(world.pool.pick(world.group(old), Asked()), Full)


@pytest.mark.parametrize("name", ["a", "added"])
def test_the_late_failure_of_a_key_that_was_replaced_says_nothing_of_the_new_one(world: World, name: str) -> None:
    old = replace(world.seat("a"), credential="old")
    late = world.pick(world.group(old)).lease
    world.now += 1
    group = world.group(replace(old, id=name, credential="new"))
    world.pool.fail(late, REVOKED)
    lease = world.pick(group).lease
    world.pool.fail(lease, REVOKED)
    assert isinstance(world.pool.pick(group, Asked()), Full)


def test_an_account_of_two_keys_is_dead_with_either(world: World) -> None:
    seats = [replace(world.seat("a"), id=key, credential=key) for key in ("east", "west")]
    group = world.group(*seats)
    world.pool.fail(world.pick(group, Asked(tried=frozenset({"west"}))).lease, REVOKED)
    assert isinstance(world.pool.pick(group, Asked()), Full)
    # To change something else of it does not bring it back; to replace the key does.
    assert isinstance(world.pool.pick(world.group(replace(seats[1], weight=2.0)), Asked()), Full)
    assert isinstance(world.pool.pick(world.group(replace(seats[0], credential="east 2")), Asked()), Pick)


USED_UP = (Reading("requests", 86_400.0, 100.0, 0.0, None, 3600.0),)


def test_to_change_an_accounts_limits_does_not_forget_what_its_provider_told(world: World) -> None:
    group = world.group(world.seat("a", {"rpm": 5}))
    world.pool.settle(world.pick(group).lease, Need(1, 0), readings=USED_UP)
    assert isinstance(world.pool.pick(world.group(world.seat("a", {"rpm": 6})), Asked()), Full)


def test_a_request_takes_of_a_subscription_what_it_is_thought_to_cost(world: World) -> None:
    group = world.group(world.seat("a"))

    def told(used: float) -> tuple[Reading, ...]:
        return (Reading("unified-5h", 18_000.0, None, None, used, 3600.0),)

    world.pool.settle(world.pick(group).lease, Need(1, 100), readings=told(0.5))
    (window,) = group.places[0].account.windows
    leases = [world.pick(group, Asked(Need(1, 100))).lease for _ in range(10)]
    assert window.left(world.now) == 0.5
    for lease in leases[1:]:
        world.pool.settle(lease, Need(1, 100))
    world.now += 1
    world.pool.settle(leases[0], Need(1, 100), readings=told(0.6))
    world.pick(group)
    assert window.left(world.now) == pytest.approx(0.39)


def test_an_operator_knows_better_than_what_its_provider_told(world: World) -> None:
    group = world.group(world.seat("a", {"rpm": 5}))
    world.pool.settle(world.pick(group).lease, Need(1, 0), readings=USED_UP)
    assert isinstance(world.pool.pick(group, Asked()), Full)
    assert world.pool.release_account("a")
    assert isinstance(world.pool.pick(group, Asked()), Pick)
    # Its own limits count as they did.
    assert group.places[0].account.windows[0].left(world.now) == 3


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 3, 5, 9])), min_size=1, max_size=30))
def test_an_account_has_the_tightest_of_what_its_deployments_say(steps: list[tuple[str, int | None]]) -> None:
    pool = Pool(RotationTerms(), clock=lambda: 1.0, random=lambda: 0.5)
    said: dict[str, int | None] = {}
    for name, rpm in steps:
        if rpm is None and name in said:
            pool.forget(pool.places[name, "m"])
            del said[name]
        else:
            pool.place(Seat(name, "one", "m", limits=Limits.of({"rpm": rpm, "concurrent": rpm}, "")))
            said[name] = rpm
        if said:
            least = min((each for each in said.values() if each is not None), default=None)
            side = pool.sides["one", None]
            assert side.concurrent == least
            assert [window.limit.amount for window in side.windows] == ([] if least is None else [least])


def test_many_deployments_of_an_account_are_not_compared_with_each_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, tightest = [], Limits.tightest

    def counted(several: Iterable[Limits]) -> Limits:
        compared.extend(told := list(several))
        return tightest(told)

    monkeypatch.setattr(Limits, "tightest", counted)
    for number in range(200):
        world.pool.place(Seat(str(number), "one", "m", limits=Limits((Limit(Unit.REQUESTS, 5.0, 60.0),))))
    for place in list(world.pool.places.values()):
        world.pool.forget(place)
    assert len(compared) <= 2 * 200
