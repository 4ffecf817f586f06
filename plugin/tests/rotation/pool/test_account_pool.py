from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.providers.limit_headers import LimitReading
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits, RateLimit, Unit
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate, HealthState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conftest import World


def test_what_was_reserved_becomes_what_was_used(world: World) -> None:
    candidates = world.group(world.seat("a", {"tpm": 1000}))
    window = candidates.deployments[0].account.windows[0]
    reservation = world.pick(candidates, PickRequest(Usage(1, 300))).reservation
    assert window.available(world.now) == 700
    world.pool.settle(reservation, Usage(1, 120))
    assert window.available(world.now) == 880
    world.pool.settle(reservation, Usage(1, 999))
    assert window.available(world.now) == 880
    world.pool.release(world.pick(candidates, PickRequest(Usage(1, 300))).reservation)
    assert window.available(world.now) == 880


def test_one_that_used_more_than_it_was_thought_to_counts_in_full(world: World) -> None:
    candidates = world.group(world.seat("a", {"tpm": 1000}))
    world.pool.settle(world.pick(candidates, PickRequest(Usage(1, 100))).reservation, Usage(1, 600))
    assert candidates.deployments[0].account.windows[0].available(world.now) == 400


def test_leases_of_which_nothing_is_heard_are_given_back(world: World) -> None:
    world.made(reservation_ttl=60.0)
    candidates = world.group(world.seat("a", {"concurrent": 2, "tpm": 1000}))
    reservations = [world.pick(candidates, PickRequest(Usage(1, 400))).reservation for _ in range(2)]
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    world.now += 61
    assert isinstance(world.pool.pick(candidates, PickRequest(Usage(1, 900))), Pick)
    assert not reservations[0].is_open
    assert candidates.deployments[0].in_flight == 1


def test_who_is_heard_of_late_after_all_is_settled_once(world: World) -> None:
    world.made(reservation_ttl=60.0)
    candidates = world.group(world.seat("a", {"tpm": 1000, "rpm": 10}))
    deployment = candidates.deployments[0]
    reservation = world.pick(candidates, PickRequest(Usage(1, 400))).reservation
    world.now += 61
    world.pool.expire_reservations(world.now)
    tokens, requests = (deployment.account.windows[each].available(world.now) for each in (1, 0))
    readings = (LimitReading("input-tokens", None, 500.0, 50.0, None, 30.0),)
    for _ in range(2):
        world.pool.settle(reservation, Usage(1, 300), latency=60.0, readings=readings)
    assert [deployment.account.windows[each].available(world.now) for each in (1, 0)] == [tokens - 300, requests]
    assert (deployment.in_flight, deployment.account.in_flight) == (0, 0)
    assert [window.available(world.now) for window in deployment.model.windows] == [50]


def test_the_end_of_one_that_gave_up_or_failed_is_no_longer_counted(world: World) -> None:
    candidates = world.group(world.seat("a", {"tpm": 1000}))
    given_up, failed = (world.pick(candidates, PickRequest(Usage(1, 100))).reservation for _ in range(2))
    world.pool.release(given_up)
    world.pool.fail(failed, Failure(FailureKind.CLIENT, FailureScope.NOTHING, None, "bad request"))
    for reservation in (given_up, failed):
        world.pool.settle(reservation, Usage(1, 300))
    assert candidates.deployments[0].account.windows[0].available(world.now) == 1000


def test_accounts_are_one_over_all_their_models(world: World) -> None:
    limits = Limits.of({"rpm": 3}, "a")
    small, large = (
        world.pool.candidate_set(model, [DeploymentSpec(f"a-{model}", "a", model, limits=limits)])
        for model in ("small", "large")
    )
    for candidates in (small, large, small):
        world.pick(candidates)
    assert isinstance(world.pool.pick(large, PickRequest()), NoCapacity)


@pytest.mark.parametrize(
    ("scope", "other_is_held"), [(FailureScope.ACCOUNT, True), (FailureScope.ACCOUNT_MODEL, False)]
)
def test_a_hold_reaches_as_far_as_its_signal(world: World, scope: FailureScope, *, other_is_held: bool) -> None:
    small, large = (
        world.pool.candidate_set(model, [DeploymentSpec(f"a-{model}", "a", model)]) for model in ("small", "large")
    )
    world.pool.fail(world.pick(small).reservation, Failure(FailureKind.QUOTA, scope, 100.0, "used up"))
    assert isinstance(world.pool.pick(small, PickRequest()), NoCapacity)
    assert isinstance(world.pool.pick(large, PickRequest()), NoCapacity) == other_is_held


def test_a_clients_own_fault_holds_nobody(world: World) -> None:
    candidates = world.group(world.seat("a"))
    for _ in range(10):
        world.pool.fail(
            world.pick(candidates).reservation, Failure(FailureKind.CLIENT, FailureScope.NOTHING, None, "bad request")
        )
    assert isinstance(world.pool.pick(candidates, PickRequest()), Pick)


def test_others_are_told_and_what_they_tell_is_believed(world: World) -> None:
    told: list[CooldownUpdate] = []
    world.made(tell=told.append)
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 50.0)
    assert [(one.account, one.model, one.kind, one.is_provider_stated) for one in told] == [
        ("a", None, FailureKind.RATE_LIMIT, True)
    ]
    world.made()
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.pool.apply_cooldown_update(told[0])
    assert set(world.used(candidates, 10)) == {"b"}
    assert len(told) == 1


def test_what_was_heard_of_an_account_before_it_was_known_holds(world: World) -> None:
    world.pool.apply_cooldown_update(
        CooldownUpdate("a", None, FailureKind.QUOTA, "used up", world.now + 100, is_provider_stated=True)
    )
    world.pool.apply_cooldown_update(
        CooldownUpdate("b", "m", FailureKind.PERMANENT, "no such model", math.inf, is_provider_stated=True)
    )
    candidates = world.group(world.seat("a"), world.seat("b"), world.seat("c"))
    assert set(world.used(candidates, 10)) == {"c"}


def test_an_operator_releases_an_account_and_all_are_told(world: World) -> None:
    told: list[CooldownUpdate] = []
    world.made(tell=told.append)
    candidates = world.group(world.seat("a"))
    world.hold(candidates, "a", kind=FailureKind.PERMANENT)
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    assert world.pool.release_account("a")
    assert told[-1].kind is None
    assert isinstance(world.pool.pick(candidates, PickRequest()), Pick)
    assert not world.pool.release_account("absent")


def test_limits_that_a_provider_tells_are_kept(world: World) -> None:
    candidates = world.group(world.seat("a"))
    readings = (LimitReading("requests", None, 100.0, 2.0, None, 30.0),)
    world.pool.settle(world.pick(candidates).reservation, Usage(1, 0), readings=readings)
    # It may not have counted the request that it answered.
    found = [world.pool.pick(candidates, PickRequest()) for _ in range(3)]
    assert isinstance(found[0], Pick)
    assert isinstance(found[2], NoCapacity)
    world.now += 31
    assert isinstance(world.pool.pick(candidates, PickRequest()), Pick)


def test_a_deployment_that_has_changed_keeps_what_was_used(world: World) -> None:
    world.used(world.group(world.seat("a", {"rpm": 5})), 5)
    candidates = world.group(world.seat("a", {"rpm": 5}, weight=3))
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    assert len(world.pool.deployments) == 1
    assert len(world.pool.deployments_of(candidates.deployments[0].account)) == 1


def test_a_deployment_that_is_no_more_is_forgotten(world: World) -> None:
    candidates = world.group(world.seat("a", {"rpm": 5}), world.seat("b"))
    deployment = candidates.deployments[0]
    world.pool.remove_deployment(deployment)
    assert deployment not in world.pool.deployments_of(deployment.account)
    assert list(world.pool.deployments) == [("b", "m")]
    assert world.pool.candidate_sets.sets_of(candidates.deployments[1]) == []


def test_what_providers_ask_for_is_believed_up_to_a_point(world: World) -> None:
    candidates = world.group(world.seat("a"), world.seat("b"))
    world.hold(candidates, "a", 1e9)
    cooldown = candidates.deployments[0].account.cooldown
    assert cooldown.state(world.now) is HealthState.COOLING_DOWN
    assert cooldown.until <= world.now + world.pool.settings.cooldown.max_rate_limit + 10


def test_an_account_whose_key_was_replaced_is_tried_again(world: World) -> None:
    spec = world.seat("a")
    candidates = world.group(spec)
    world.pool.fail(
        world.pick(candidates).reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked")
    )
    same = world.group(replace(spec, id="another"))
    assert isinstance(world.pool.pick(same, PickRequest()), NoCapacity)
    replaced = world.group(replace(spec, id="replaced", credential="that of a new key"))
    assert isinstance(world.pool.pick(replaced, PickRequest()), Pick)


REVOKED = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked")


def test_what_others_say_of_a_key_that_was_replaced_concerns_nobody_who_uses_the_new_one(world: World) -> None:
    told: list[CooldownUpdate] = []
    world.made(tell=told.append)
    old, new = (replace(world.seat("a"), credential=key) for key in ("old", "new"))
    world.pool.fail(world.pick(world.group(old)).reservation, REVOKED)
    assert told[-1].credential == "old"
    # As after a restart: what was left in Redis is read before anybody asks for an account.
    world.made()
    world.pool.apply_cooldown_update(told[-1])
    assert isinstance(world.pool.pick(world.group(new), PickRequest()), Pick)
    # And as on the running worker, while others still use the old key.
    world.pool.apply_cooldown_update(told[-1])
    assert isinstance(world.pool.pick(world.group(new), PickRequest()), Pick)
    # The old key is still quarantined.
    assert isinstance(world.pool.pick(world.group(old), PickRequest()), NoCapacity)


@pytest.mark.parametrize("name", ["a", "added"])
def test_the_late_failure_of_a_key_that_was_replaced_says_nothing_of_the_new_one(world: World, name: str) -> None:
    old = replace(world.seat("a"), credential="old")
    late = world.pick(world.group(old)).reservation
    world.now += 1
    candidates = world.group(replace(old, id=name, credential="new"))
    world.pool.fail(late, REVOKED)
    reservation = world.pick(candidates).reservation
    world.pool.fail(reservation, REVOKED)
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)


def test_an_account_of_two_keys_is_dead_with_either(world: World) -> None:
    specs = [replace(world.seat("a"), id=key, credential=key) for key in ("east", "west")]
    candidates = world.group(*specs)
    world.pool.fail(world.pick(candidates, PickRequest(excluded=frozenset({"west"}))).reservation, REVOKED)
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    # To change something else of it does not bring it back; to replace the key does.
    assert isinstance(world.pool.pick(world.group(replace(specs[1], weight=2.0)), PickRequest()), NoCapacity)
    assert isinstance(world.pool.pick(world.group(replace(specs[0], credential="east 2")), PickRequest()), Pick)


USED_UP = (LimitReading("requests", 86_400.0, 100.0, 0.0, None, 3600.0),)


def test_to_change_an_accounts_limits_does_not_forget_what_its_provider_told(world: World) -> None:
    candidates = world.group(world.seat("a", {"rpm": 5}))
    world.pool.settle(world.pick(candidates).reservation, Usage(1, 0), readings=USED_UP)
    assert isinstance(world.pool.pick(world.group(world.seat("a", {"rpm": 6})), PickRequest()), NoCapacity)


def test_a_request_takes_of_a_subscription_what_it_is_thought_to_cost(world: World) -> None:
    candidates = world.group(world.seat("a"))

    def told(used: float) -> tuple[LimitReading, ...]:
        return (LimitReading("unified-5h", 18_000.0, None, None, used, 3600.0),)

    world.pool.settle(world.pick(candidates).reservation, Usage(1, 100), readings=told(0.5))
    (window,) = candidates.deployments[0].account.windows
    reservations = [world.pick(candidates, PickRequest(Usage(1, 100))).reservation for _ in range(10)]
    assert window.available(world.now) == 0.5
    for reservation in reservations[1:]:
        world.pool.settle(reservation, Usage(1, 100))
    world.now += 1
    world.pool.settle(reservations[0], Usage(1, 100), readings=told(0.6))
    world.pick(candidates)
    assert window.available(world.now) == pytest.approx(0.39)


def test_an_operator_knows_better_than_what_its_provider_told(world: World) -> None:
    candidates = world.group(world.seat("a", {"rpm": 5}))
    world.pool.settle(world.pick(candidates).reservation, Usage(1, 0), readings=USED_UP)
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    assert world.pool.release_account("a")
    assert isinstance(world.pool.pick(candidates, PickRequest()), Pick)
    # Its own limits count as they did.
    assert candidates.deployments[0].account.windows[0].available(world.now) == 3


def test_a_release_also_forgets_what_the_provider_stated_of_an_operators_limit(world: World) -> None:
    candidates = world.group(world.seat("a", {"daily": 200}))
    (window,) = candidates.deployments[0].account.windows
    reading = LimitReading("requests", 86_400.0, limit=200, remaining=0, used_share=None, resets_in=25_200.0)
    world.pool.settle(world.pick(candidates).reservation, Usage(1, 0), readings=(reading,))
    assert candidates.deployments[0].account.windows == (window,)
    assert isinstance(world.pool.pick(candidates, PickRequest()), NoCapacity)
    world.pool.release_account("a")
    assert isinstance(world.pool.pick(candidates, PickRequest()), Pick)
    assert window.available(world.now) == 198


def test_a_pick_that_nothing_followed_counts_for_nothing(world: World) -> None:
    candidates = world.group(world.seat("a", {"rpm": 5, "concurrent": 1}))
    for _ in range(9):
        world.pool.cancel(world.pick(candidates).reservation)
    assert candidates.deployments[0].account.windows[0].available(world.now) == 5
    world.hold(candidates, "a")
    world.now += 20
    # A probe that was not sent leaves its place to the next request.
    world.pool.cancel(world.pick(candidates).reservation)
    assert world.pick(candidates).reason is PickReason.PROBE


def test_a_preview_reserves_nothing(world: World) -> None:
    candidates = world.group(world.seat("a", {"rpm": 1}), world.seat("b", {"rpm": 1}))
    world.pick(candidates, PickRequest(preferred_account="a"))
    for _ in range(5):
        assert world.pool.preview(candidates, lambda *_: True) == 1
    assert world.pool.preview(candidates, lambda *_: False) is None
    world.pick(candidates)
    assert world.pool.preview(candidates, lambda *_: True) is None


def test_a_used_up_quota_counts_beside_a_full_account(world: World) -> None:
    candidates = world.group(world.seat("a", {"concurrent": 1, "windows": [{"for": "5h", "requests": 1}]}))
    world.pick(candidates)
    found = world.pool.pick(candidates, PickRequest())
    assert isinstance(found, NoCapacity)
    assert found.blocker is not None
    assert (found.blocker.reason, found.available_in > 3600) == (BlockReason.LIMIT, True)


def test_a_stream_takes_back_as_much_of_a_failure_as_any_success(world: World) -> None:
    candidates = world.group(world.seat("a"))
    world.pool.fail(world.pick(candidates).reservation, Failure(FailureKind.TRANSIENT, FailureScope.ACCOUNT, None, "x"))
    reservation = world.pick(candidates).reservation
    world.pool.on_stream_start(reservation)
    world.pool.settle(reservation, Usage(1, 0))
    assert candidates.deployments[0].account.cooldown.failures == 0.75


def test_a_shorter_lifetime_of_reservations_applies_to_those_that_are_open(world: World) -> None:
    candidates = world.group(world.seat("a", {"concurrent": 1}))
    world.pick(candidates)
    world.pool.use(world.pool.settings.model_copy(update={"reservation_ttl": 60.0}))
    world.now += 61
    assert isinstance(world.pool.pick(world.group(world.seat("a", {"concurrent": 1})), PickRequest()), Pick)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 3, 5, 9])), min_size=1, max_size=30))
def test_an_account_has_the_tightest_of_what_its_deployments_say(steps: list[tuple[str, int | None]]) -> None:
    pool = AccountPool(RotationSettings(), clock=lambda: 1.0, random=lambda: 0.5)
    said: dict[str, int | None] = {}
    for name, rpm in steps:
        if rpm is None and name in said:
            pool.remove_deployment(pool.deployments[name, "m"])
            del said[name]
        else:
            pool.deployment(DeploymentSpec(name, "one", "m", limits=Limits.of({"rpm": rpm, "concurrent": rpm}, "")))
            said[name] = rpm
        if said:
            least = min((each for each in said.values() if each is not None), default=None)
            scope = pool.scopes["one", None]
            assert scope.concurrent == least
            assert [window.limit.amount for window in scope.windows] == ([] if least is None else [least])


def test_many_deployments_of_an_account_are_not_compared_with_each_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, tightest = [], Limits.strictest

    def counted(several: Iterable[Limits]) -> Limits:
        compared.extend(told := list(several))
        return tightest(told)

    monkeypatch.setattr(Limits, "strictest", counted)
    for number in range(200):
        world.pool.deployment(
            DeploymentSpec(str(number), "one", "m", limits=Limits((RateLimit(Unit.REQUESTS, 5.0, 60.0),)))
        )
    for deployment in list(world.pool.deployments.values()):
        world.pool.remove_deployment(deployment)
    assert len(compared) <= 2 * 200
