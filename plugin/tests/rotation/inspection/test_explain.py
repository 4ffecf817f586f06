"""The explained pick is the next pick, and explaining changes nothing."""

from __future__ import annotations

import json
import math
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.inspection.explain import explain
from litellm_evenkeel.rotation.model.blocker import BlockReason, Certainty
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
        settings = RotationSettings(strategy=StrategyName(strategy), snapshot_ttl=ttl, reservation_ttl=60.0)
        self.pool = AccountPool(settings, clock=lambda: self.now, random=random.Random(7).random)
        self.candidates = self.pool.candidate_set("m", specs)
        self.open: list[Reservation] = []

    def ask(self, request: PickRequest) -> object:
        found = self.pool.pick(self.candidates, request)
        if not isinstance(found, Pick):
            return found
        self.open.append(found.reservation)
        return found.deployment.spec.account, found.reason

    def explain(self, request: PickRequest = PickRequest()) -> Explanation:  # noqa: B008 - frozen
        steps = explain(self.pool, self.candidates, request, random=random.Random(3).random)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

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
@given(taken=steps, ttl=st.sampled_from([1e-6, 10.0]), levels=st.booleans())
def test_the_explanation_agrees_with_the_pick_and_changes_nothing(
    strategy: str, taken: list, ttl: float, *, levels: bool
) -> None:
    specs = [
        DeploymentSpec(
            f"id-{name}",
            name,
            "gpt",
            weight=1 + position % 3,
            priority=1 + (position % 2 if levels else 0),
            limits=Limits.of(LIMITS[position % len(LIMITS)], name),
        )
        for position, name in enumerate(NAMES)
    ]
    explained, alone = World(strategy, specs, ttl), World(strategy, specs, ttl)
    for what in taken:
        explanation = None
        if what[0] == "ask":
            explanation = explained.explain(PickRequest(Usage(1, what[1]), what[3], what[2]))
        outcome = step(explained, what)
        assert outcome == step(alone, what)
        if explanation is None:
            continue
        rows = {row.account: row for row in explanation.candidates}
        assert sorted(row.rank for row in rows.values()) == list(range(1, len(NAMES) + 1))
        if isinstance(outcome, NoCapacity):
            assert explanation.chosen is None
            assert explanation.available_in_seconds == outcome.available_in
        else:
            account, reason = outcome
            if reason is PickReason.STRATEGY:
                # The draw may prefer another candidate of the same priority, never a blocked one.
                assert rows[account].blocker is None
                first = rows[explanation.chosen]
                # A candidate that is ramping up passes some requests on to a later priority.
                is_passed_on = first.traffic_share < 1
                assert is_passed_on or rows[account].priority == first.priority or not rows[account].weight
            elif reason not in {PickReason.PROBE, PickReason.RAMP_UP, PickReason.PINNED}:
                assert (explanation.chosen, explanation.reason) == outcome
        assert [row.account for row in rows.values() if not row.change] in ([], [explanation.chosen])
        json.dumps(explanation.as_json(), allow_nan=False)


def test_a_strategy_without_chance_picks_the_first_rank() -> None:
    on = world("fill_first", a=None, b=None)
    explanation = on.explain()
    assert (explanation.chosen, explanation.verdict) == ("a", "a is picked: it ranks first")
    assert [(row.account, row.rank) for row in explanation.candidates] == [("a", 1), ("b", 2)]
    assert explanation.candidates[1].change == "its score of -1 would have to exceed the 0 of a"


def test_a_drawn_pick_says_how_many_candidates_are_compared() -> None:
    on = world("headroom", **dict.fromkeys(NAMES))
    assert "ranks first of 7 available candidates; each request compares 2 of them" in on.explain().verdict


def test_candidates_that_score_the_same_are_named_together() -> None:
    assert world("headroom", a=None, b=None).explain().verdict == "one of a, b is picked: they score the same"


def test_a_limit_that_is_used_up_says_what_it_lacks_and_when_it_is_free() -> None:
    on = world("fill_first", a={"tpm": 1000}, b=None)
    on.ask(PickRequest(Usage(1, 900)))
    row = on.candidate("a", PickRequest(Usage(1, 300)))
    assert (row.blocker.reason, row.blocker.certainty) == (BlockReason.LIMIT, Certainty.CONFIRMED)
    assert (row.blocker.needed, row.blocker.available) == (300, 100)
    assert row.change.startswith("needs 200 tokens, free in ")
    assert row.change.endswith("(tokens/1m: 100 left)")


def test_a_cooldown_says_when_it_ends_and_a_quarantine_who_ends_it() -> None:
    on = world("fill_first", a=None, b=None, c=None)
    on.ask(PickRequest())
    on.fail("a", FailureKind.RATE_LIMIT, 40.0)
    on.ask(PickRequest())
    on.fail("b", FailureKind.PERMANENT)
    assert on.explain().chosen == "c"
    assert on.candidate("a").change.startswith("its cooldown ends in 4")
    change = "needs a release by an operator (of the test): POST /evenkeel/accounts/b/release"
    assert on.candidate("b").change == change
    assert on.candidate("b").blocker.ends_in_seconds == math.inf
    blockers = {row["account"]: row["blocker"] for row in on.explain().as_json()["candidates"]}
    assert blockers["b"]["ends_in_seconds"] is None


def test_an_estimated_cooldown_says_that_it_may_be_ignored() -> None:
    on = world("fill_first", a=None, b=None)
    on.ask(PickRequest())
    on.fail("a", FailureKind.RATE_LIMIT)
    assert "that is an estimate" in on.candidate("a").change


def test_a_cooldown_and_a_used_up_limit_are_both_named() -> None:
    on = world("fill_first", a={"rpm": 1}, b=None)
    on.ask(PickRequest())
    on.fail("a", FailureKind.RATE_LIMIT, 5.0)
    assert "; and needs 1 request, free in" in on.candidate("a").change


@pytest.mark.parametrize("strategy", ["headroom", "least_busy", "lowest_latency"])
def test_a_lower_score_is_compared_with_the_best(strategy: str) -> None:
    on = world(strategy, a={"tpm": 10_000}, b={"tpm": 10_000})
    on.ask(PickRequest(Usage(1, 6000), preferred_account="a"))
    if strategy == "lowest_latency":
        on.pool.settle(on.open.pop(), Usage(1, 0), latency=0.9)
    assert on.explain(PickRequest(Usage(1, 50))).chosen == "b"
    assert on.candidate("a", PickRequest(Usage(1, 50))).change.startswith("its score of ")


def test_a_pinned_session_goes_to_its_account() -> None:
    on = world("headroom", a=None, b=None)
    explanation = on.explain(PickRequest(preferred_account="b"))
    assert (explanation.chosen, explanation.reason) == ("b", PickReason.PINNED)
    assert on.candidate("a", PickRequest(preferred_account="b")).change == "the session is pinned to b"


def test_a_later_priority_waits_for_the_first_to_be_blocked() -> None:
    specs = [
        DeploymentSpec("id-a", "a", "gpt"),
        DeploymentSpec("id-b", "b", "gpt"),
        DeploymentSpec("id-c", "c", "gpt", priority=2),
    ]
    on = World("headroom", specs)
    assert on.candidate("c").change == "all candidates of priority 1 would have to be blocked"


def test_a_deployment_that_failed_this_request_says_so() -> None:
    on = world("headroom", a=None, b=None)
    row = on.candidate("a", PickRequest(excluded=frozenset({"id-a"})))
    assert "failed there" in row.change
    again = on.explain(PickRequest(excluded=frozenset({"id-a", "id-b"})))
    assert again.reason is PickReason.RETRY_SAME


def test_without_capacity_it_says_what_ends_first() -> None:
    on = world("headroom", a={"rpm": 1}, b={"rpm": 1})
    on.ask(PickRequest())
    on.now += 5
    on.ask(PickRequest())
    explanation = on.explain()
    assert explanation.chosen is None
    assert explanation.verdict.startswith("no account is picked now; the first is available in ")
    # A request that tried all of them is no worse off: a deployment that failed once is not dead.
    excluded = on.explain(PickRequest(excluded=frozenset({"id-a", "id-b"})))
    assert excluded.as_json()["available_in_seconds"] == explanation.as_json()["available_in_seconds"]


def test_an_empty_candidate_set_says_so() -> None:
    assert World("headroom", []).explain().verdict == "no account is picked: there are no candidates"


@pytest.mark.parametrize("strategy", list(StrategyName))
def test_the_only_account_is_picked_by_every_strategy(strategy: str) -> None:
    assert world(strategy, alone=None).explain().verdict == "alone is picked: it ranks first"


def test_the_first_request_after_a_cooldown_is_explained_as_a_probe() -> None:
    on = world(a=None)
    on.ask(PickRequest())
    on.fail("a", FailureKind.RATE_LIMIT, 5.0)
    on.now += 8
    explanation = on.explain()
    assert (explanation.chosen, explanation.reason) == ("a", PickReason.PROBE)
    assert explanation.verdict == "a is picked: its cooldown is over, and the request is its probe"
    assert on.ask(PickRequest()) == ("a", PickReason.PROBE)


def test_an_account_that_is_ramping_up_ranks_behind_the_others() -> None:
    on = world(a=None, b=None)
    on.ask(PickRequest(preferred_account="a"))
    on.fail("a", FailureKind.RATE_LIMIT, 5.0)
    on.now += 8
    on.ask(PickRequest(preferred_account="a"))
    on.pool.settle(on.open.pop(), Usage())
    on.now += 0.1
    explanation = on.explain()
    assert [one.account for one in explanation.candidates] == ["b", "a"]
    assert explanation.candidates[1].change.startswith("it is ramping up")


def test_blocked_candidates_rank_by_the_end_of_their_blocker() -> None:
    on = world(a=None, b=None)
    for account, kind in (("a", FailureKind.PERMANENT), ("b", FailureKind.RATE_LIMIT)):
        on.ask(PickRequest(preferred_account=account))
        on.fail(account, kind, 30.0)
    assert [one.account for one in on.explain().candidates] == ["b", "a"]
