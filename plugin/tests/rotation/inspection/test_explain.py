"""What is explained is what happens, and explaining changes nothing."""

from __future__ import annotations

import json
import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.inspection import what_if
from litellm_evenkeel.rotation.inspection.explain import explain
from litellm_evenkeel.rotation.model.blocker import BlockReason
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason
from litellm_evenkeel.rotation.selection.strategies import STRATEGIES
from litellm_evenkeel.rotation.settings import RotationSettings, StrategyName

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.inspection.explain import Candidate, Explanation
    from litellm_evenkeel.rotation.state.deployment_state import Reservation

NAMES = tuple("abcdefg")
LIMITS = ({"rpm": 5, "concurrent": 3}, {"tpm": 20_000}, None, {"rpm": 30, "tpm": 9_000})


class World:
    """A pool, its clock, and what is under way."""

    def __init__(self, strategy: str, specs: list[DeploymentSpec], ttl: float = 10.0) -> None:
        self.now = 1_000_000.0
        settings = RotationSettings(strategy=StrategyName(strategy), snapshot_ttl=ttl, lease=60.0)
        self.pool = AccountPool(settings, clock=lambda: self.now, random=random.Random(7).random)
        self.candidates = self.pool.candidate_set("m", specs)
        self.open: list[Reservation] = []

    def ask(self, request: PickRequest) -> object:
        found = self.pool.pick(self.candidates, request)
        if not isinstance(found, Pick):
            return found
        self.open.append(found.reservation)
        return found.deployment.spec.account, found.reason

    def explain(self, request: PickRequest = PickRequest(), samples: int = 40) -> Explanation:  # noqa: B008 - frozen
        return explain(self.pool, self.candidates, request, self.now, random=random.Random(3).random, samples=samples)

    def candidate(self, account: str, request: PickRequest = PickRequest()) -> Candidate:  # noqa: B008 - frozen
        return next(one for one in self.explain(request).candidates if one.account == account)

    def fail(
        self, account: str, kind: FailureKind, seconds: float | None = None, scope: FailureScope = FailureScope.ACCOUNT
    ) -> None:
        deployment = next(
            deployment for deployment in self.candidates.deployments if deployment.spec.account == account
        )
        (reservation,) = [one for one in self.open if one.deployment is deployment]
        self.open.remove(reservation)
        self.pool.fail(reservation, Failure(kind, scope, seconds, "of the test"))


def world(strategy: str = "headroom", *, ttl: float = 10.0, **limits: dict | None) -> World:
    specs = [DeploymentSpec(f"id-{name}", name, "gpt", limits=Limits.of(told, name)) for name, told in limits.items()]
    return World(strategy, specs, ttl)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.floats(0.001, 70)),
        st.tuples(
            st.just("ask"),
            st.floats(0, 6000),
            st.none() | st.sampled_from(NAMES),
            st.frozensets(st.sampled_from([f"id-{name}" for name in NAMES]), max_size=2),
        ),
        st.tuples(st.just("ask"), st.floats(0, 3000), st.none(), st.just(frozenset())),
        st.tuples(st.just("settle"), st.integers(0, 99), st.floats(0, 3000), st.floats(0.01, 5)),
        st.tuples(
            st.just("fail"),
            st.integers(0, 99),
            st.sampled_from([FailureKind.RATE_LIMIT, FailureKind.TRANSIENT, FailureKind.QUOTA, FailureKind.PERMANENT]),
            st.none() | st.floats(0, 80),
        ),
    ),
    max_size=40,
)


def step(on: World, what: tuple) -> object:
    kind, *rest = what
    if kind == "wait":
        on.now += rest[0]
        on.pool.expire_reservations(on.now)
        on.open = [reservation for reservation in on.open if reservation.is_open]
    elif kind == "ask":
        on.pool.expire_reservations(on.now)
        return on.ask(PickRequest(Usage(1, rest[0]), rest[2], rest[1]))
    elif on.open:
        reservation = on.open.pop(rest[0] % len(on.open))
        if kind == "settle":
            on.pool.settle(reservation, Usage(1, rest[1]), latency=rest[2])
        else:
            on.pool.fail(reservation, Failure(rest[1], FailureScope.ACCOUNT, rest[2], "of the test"))
    return None


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=40, deadline=None)
@given(taken=steps, ttl=st.sampled_from([0.0, 10.0]), tiers=st.booleans())
def test_the_pick_is_possible_and_explaining_changes_nothing(
    strategy: str, taken: list, ttl: float, *, tiers: bool
) -> None:
    specs = [
        DeploymentSpec(
            f"id-{name}",
            name,
            "gpt",
            weight=1 + place % 3,
            priority=1 + (place % 2 if tiers else 0),
            limits=Limits.of(LIMITS[place % len(LIMITS)], name),
        )
        for place, name in enumerate(NAMES)
    ]
    watched, alone = World(strategy, specs, ttl), World(strategy, specs, ttl)
    for what in taken:
        told = None
        if what[0] == "ask":
            told = watched.explain(PickRequest(Usage(1, what[1]), what[3], what[2]), samples=3)
        found = step(watched, what)
        assert found == step(alone, what)
        if told is None:
            continue
        possible = {one.account for one in told.candidates if one.is_possible}
        if isinstance(found, NoCapacity):
            assert not possible
            assert told.chosen is None
            assert told.opens_in == found.available_in
        else:
            assert found[0] in possible
        for one in told.candidates:
            assert one.changes or one.is_possible
        json.dumps(told.as_json(), allow_nan=False)


def test_shares_of_what_is_drawn_are_those_of_the_live_picks() -> None:
    limits = {name: {"rpm": 600 * (1 + place)} for place, name in enumerate(NAMES)}
    on = world(**limits)
    told = {one.account: one.chance for one in on.explain(samples=2000).candidates}
    picked = dict.fromkeys(NAMES, 0)
    for _ in range(2000):
        account, _ = on.ask(PickRequest())
        picked[account] += 1
        on.pool.release(on.open.pop())
        on.now += 0.001
    assert sum(told.values()) == pytest.approx(1)
    assert max(told, key=told.get) in sorted(picked, key=picked.get)[-3:]


def test_where_nothing_is_left_to_chance_one_look_is_enough() -> None:
    on = world("fill_first", a=None, b=None)
    told = on.explain()
    assert (told.samples, told.chosen) == (1, "a")
    assert [(one.account, one.chance, one.is_possible) for one in told.candidates] == [("a", 1, True), ("b", 0, False)]
    assert told.candidates[1].changes == ("its turn comes, after a",)


def test_a_limit_that_is_used_up_says_what_it_frees_and_when() -> None:
    on = world("fill_first", a={"tpm": 1000}, b=None)
    on.ask(PickRequest(Usage(1, 900)))
    found = on.candidate("a", PickRequest(Usage(1, 300)))
    assert found.obstacle.why is BlockReason.LIMIT
    assert (found.obstacle.wanted, found.obstacle.left) == (300, 100)
    assert found.changes[0].startswith("frees 200 tokens in ")
    assert "tokens/1m: 100 left" in found.changes[0]


def test_a_hold_says_when_it_ends_and_quarantine_who_ends_it() -> None:
    on = world("fill_first", a=None, b=None, c=None)
    on.ask(PickRequest())
    on.fail("a", FailureKind.RATE_LIMIT, 40.0)
    on.ask(PickRequest())
    on.fail("b", FailureKind.PERMANENT)
    assert on.explain().chosen == "c"
    assert on.candidate("a").changes[0].startswith("its hold ends in 4")
    assert on.candidate("b").changes == ("an operator releases it (of the test): POST /evenkeel/accounts/b/release",)
    assert on.candidate("b").obstacle.opens_in == math.inf
    shut = {one["account"]: one["obstacle"] for one in on.explain().as_json()["candidates"]}
    assert shut["b"]["opens_in_seconds"] is None


def test_a_hold_and_a_used_up_limit_are_both_told() -> None:
    on = world("fill_first", a={"rpm": 1}, b=None)
    on.ask(PickRequest())
    on.fail("a", FailureKind.RATE_LIMIT, 5.0)
    assert len(on.candidate("a").changes) == 2


def test_a_lower_score_says_how_much_less_would_have_to_be_used() -> None:
    on = world("headroom", a={"tpm": 10_000}, b={"tpm": 10_000})
    first, _ = on.ask(PickRequest(Usage(1, 6000)))
    other = {"a": "b", "b": "a"}[first]
    assert on.explain(PickRequest(Usage(1, 50))).chosen == other
    on.pool.settle(on.open.pop(), Usage(1, 6000))
    (said,) = on.candidate(first, PickRequest(Usage(1, 50))).changes
    assert "needed, has" in said
    assert "60 % less of tokens/1m used (6,000)" in said


def test_a_busier_account_says_how_many_fewer_requests() -> None:
    on = world("least_loaded", a=None, b=None)
    for _ in range(3):
        on.ask(PickRequest(excluded=frozenset({"id-b"})))
    assert on.explain().chosen == "b"
    (said,) = on.candidate("a").changes
    assert said.endswith("3 fewer of its 3 requests under way")


def test_a_slower_account_says_how_fast_it_would_have_to_be() -> None:
    on = world("lowest_latency", a=None, b=None)
    for name, latency in (("b", 0.2), ("a", 0.9)):
        on.ask(PickRequest(preferred_account=name))
        on.pool.settle(on.open.pop(), Usage(1, 0), latency=latency)
    assert on.explain().chosen == "b"
    (said,) = on.candidate("a").changes
    assert said.endswith("answers in 0.2 s instead of 0.9 s")


def test_a_pinned_session_goes_to_its_account() -> None:
    on = world("headroom", a=None, b=None)
    told = on.explain(PickRequest(preferred_account="b"))
    assert (told.chosen, told.candidates[0].reason, told.samples) == ("b", PickReason.STICKY, 1)
    assert told.candidates[1].changes == ("the session sticks to b",)


def test_a_lower_tier_waits_for_the_first_to_be_shut() -> None:
    specs = [
        DeploymentSpec("id-a", "a", "gpt"),
        DeploymentSpec("id-b", "b", "gpt"),
        DeploymentSpec("id-c", "c", "gpt", priority=2),
    ]
    on = World("headroom", specs)
    assert on.candidate("c").changes[0].startswith("nobody of tier 1 has room: ")


def test_what_has_failed_for_this_request_is_told() -> None:
    on = world("headroom", a=None, b=None)
    found = on.candidate("a", PickRequest(excluded=frozenset({"id-a"})))
    assert "has failed there" in found.changes[0]
    again = on.explain(PickRequest(excluded=frozenset({"id-a", "id-b"})))
    assert again.candidates[0].reason is PickReason.RETRY_SAME


def test_nobody_says_who_opens_first() -> None:
    on = world("headroom", a={"rpm": 1}, b={"rpm": 1})
    on.ask(PickRequest())
    on.now += 5
    on.ask(PickRequest())
    told = on.explain()
    assert told.chosen is None
    assert told.verdict.startswith("nobody now; the first opens in ")
    # Who has tried all of them is no worse off: what has failed once is not dead.
    tried = on.explain(PickRequest(excluded=frozenset({"id-a", "id-b"})))
    assert tried.as_json()["opens_in_seconds"] == told.as_json()["opens_in_seconds"]


def test_every_obstacle_has_its_sentence() -> None:
    assert set(what_if.SENTENCES) == set(BlockReason)


def test_an_empty_group_says_so() -> None:
    assert World("headroom", []).explain().verdict == "nobody: there are no candidates"


def test_where_no_one_change_is_enough_all_of_them_may_be() -> None:
    on = world("headroom", a={"tpm": 10_000, "rpm": 10}, b={"tpm": 10_000, "rpm": 10})
    for _ in range(4):
        on.ask(PickRequest(Usage(1, 1000), excluded=frozenset({"id-b"})))
    assert on.explain(PickRequest(Usage(1, 50))).chosen == "b"
    (said,) = on.candidate("a", PickRequest(Usage(1, 50))).changes
    assert "% less of all" in said


def test_where_even_that_is_not_enough_it_says_so() -> None:
    on = world("headroom", a={"tpm": 4000}, b={"tpm": 100_000})
    (said,) = on.candidate("a", PickRequest(Usage(1, 3000))).changes
    assert said.endswith("it would have less even if nothing of it were used")


@pytest.mark.parametrize("strategy", list(StrategyName))
def test_the_only_account_is_chosen_however_it_is_drawn(strategy: str) -> None:
    told = world(strategy, alone=None).explain()
    assert told.verdict.startswith("alone is chosen")
