"""The list is the truth: whatever is remembered of former ones."""

from __future__ import annotations

import gc
import random
import weakref
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.inspection.account_status import scopes_by_account
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, PickRequest
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.pool.candidate_cache import (
    COMPARED_PER_REQUEST,
    IDLE_SECONDS,
    MAX_SAME_ENDS,
    REQUESTS_PER_CLOCK_READ,
    CandidateCache,
)
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.rotation.state.cooldown import HealthState
from litellm_evenkeel.rotation.state.registry import MAX_IDLE_SCOPES


def deployment(number: int, **params: object) -> dict[str, object]:
    return {"model_name": "g", "litellm_params": {"model": "m", **params}, "model_info": {"id": f"d{number}"}}


def seat(one: object, requested: str) -> DeploymentSpec:
    return DeploymentSpec.from_litellm(one, {}, requested)


def made(most: int = 512) -> tuple[AccountPool, CandidateCache]:
    pool = AccountPool(RotationSettings(), clock=lambda: 1.0, random=random.Random(5).random)
    return pool, CandidateCache(pool, seat, max_lists=most)


def picked(pool: AccountPool, candidates: CandidateCache, model: str, deployments: list[dict[str, object]]) -> Pick:
    """Do as the steering does."""
    cached = candidates.lookup(model, deployments)
    found = pool.pick(cached.candidates, PickRequest(), candidates.matches_at(cached, deployments))
    if found is None:
        cached = candidates.resolve(model, deployments)
        found = pool.pick(cached.candidates, PickRequest(), candidates.matches_at(cached, deployments))
    assert isinstance(found, Pick)
    return found


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 6))
def test_what_is_chosen_is_always_of_the_very_list(data: st.DataObject, most: int) -> None:
    pool, candidates = made(most)
    all_of_them = [deployment(number) for number in range(6)]
    for _ in range(data.draw(st.integers(1, 25))):
        replaced = data.draw(st.none() | st.integers(0, 5))
        if replaced is not None:
            # As an operator's change does: another object with the same id.
            all_of_them[replaced] = deployment(replaced)
        order = data.draw(st.permutations(range(6)))
        deployments = [all_of_them[each] for each in order[: data.draw(st.integers(1, 6))]]
        model = data.draw(st.sampled_from(["g", "h"]))
        found = picked(pool, candidates, model, deployments)
        assert deployments[found.position]["model_info"]["id"] == found.deployment.spec.id
        pool.release(found.reservation)
        candidate_sets = candidates.candidate_sets()
        assert len(candidate_sets) <= most
        # Those that were forgotten stand nowhere any more.
        assert {
            candidate_set for state in pool.deployments.values() for candidate_set in pool.candidate_sets.sets_of(state)
        } <= set(candidate_sets)


def test_the_same_list_is_looked_through_once() -> None:
    pool, candidates = made()
    deployments = [deployment(number) for number in range(5)]
    for _ in range(10):
        picked(pool, candidates, "g", list(deployments))
    assert (candidates.hits, candidates.misses) == (9, 1)


def test_lists_that_differ_in_the_middle_only_are_known_apart() -> None:
    pool, candidates = made()
    all_of_them = [deployment(number) for number in range(9)]
    lists = [all_of_them, *([each for each in all_of_them if each is not left_out] for left_out in all_of_them[2:6])]
    cached = [candidates.lookup("g", each) for each in lists]
    for _ in range(3):
        for each in lists:
            picked(pool, candidates, "g", list(each))
    # None of them has cost another its group, and what is remembered in it.
    assert [candidates.lookup("g", each) for each in lists] == cached
    assert candidates.misses == len(lists)


def test_another_deployment_in_the_midst_of_a_long_list_is_noticed_in_turn() -> None:
    pool, candidates = made()
    all_of_them = [deployment(number) for number in range(10 * COMPARED_PER_REQUEST)]
    one, other = all_of_them[:40] + all_of_them[41:], all_of_them[:41] + all_of_them[42:]
    candidates.lookup("g", one)
    for _ in range(10):
        found = picked(pool, candidates, "g", other)
        # Whatever it was taken for, what is chosen is of the list.
        assert other[found.position]["model_info"]["id"] == found.deployment.spec.id
        pool.release(found.reservation)
    misses = candidates.misses
    for _ in range(20):
        for listed in (one, other):
            assert [state.spec.id for state in candidates.lookup("g", listed).candidates.deployments] == ids(listed)
    assert candidates.misses == misses


def ids(deployments: list[dict[str, object]]) -> list[str]:
    return [one["model_info"]["id"] for one in deployments]  # type: ignore[index]


class Listed(list[Any]):
    """A list that can be referred to weakly."""


class Dictionary(dict[str, Any]):
    """A dictionary that can be referred to weakly."""


def test_new_dictionaries_for_every_request_are_recognised_and_none_of_them_is_kept() -> None:
    pool, candidates = made()
    lists: list[weakref.ref[Listed]] = []
    dictionaries: list[weakref.ref[Dictionary]] = []
    for _ in range(50):
        deployments = Listed(Dictionary(deepcopy(deployment(number))) for number in range(20))
        lists.append(weakref.ref(deployments))
        dictionaries += [weakref.ref(one) for one in deployments]
        pool.release(picked(pool, candidates, "g", deployments).reservation)
        del deployments
    gc.collect()
    assert (candidates.hits, candidates.misses) == (49, 1)
    assert [one() for one in lists] == [None] * 50
    # One for each deployment, to see whether it has changed.
    assert sum(one() is not None for one in dictionaries) == 20


@pytest.mark.parametrize("change", [{"weight": 2}, {"priority": 2}, {"limits": {"rpm": 5}}])
def test_a_change_is_noticed_in_turn_though_its_deployment_is_not_chosen(change: dict[str, object]) -> None:
    _, candidates = made()
    before = [deployment(number) for number in range(10 * COMPARED_PER_REQUEST)]
    cached = candidates.lookup("g", before)
    info = {"id": "d77", **change}
    for _ in range(10):
        cached = candidates.lookup("g", [{**one, "model_info": info} if one is before[77] else one for one in before])
    spec = cached.candidates.deployments[77].spec
    assert spec == DeploymentSpec.from_litellm({**before[77], "model_info": info}, {})


def test_tags_and_an_order_that_are_written_later_are_noticed_too() -> None:
    _, candidates = made()
    assert not candidates.lookup("g", [deployment(number) for number in range(3)]).has_tags
    cached = candidates.lookup("g", [deployment(0), deployment(1, tags=["a"], order=1), deployment(2)])
    assert (cached.has_tags, cached.has_order) == (True, True)


@pytest.mark.parametrize("change", [{"tags": ["a"]}, {"order": 1}])
def test_tags_and_an_order_are_noticed_by_each_list_whichever_reads_them_first(change: dict[str, Any]) -> None:
    _, candidates = made()
    whole, part = slice(None), slice(2)
    before, after = ([deployment(0), deployment(1, **params), deployment(2)] for params in ({}, change))
    for _ in range(2):
        for deployments in (before, after):
            for listed in (part, whole, part):
                cached = candidates.lookup("g", deployments[listed])
                assert (cached.has_tags or cached.has_order) == (deployments is after)


def test_other_words_for_the_same_cost_no_group() -> None:
    pool, candidates = made()
    first = candidates.lookup("g", [deployment(number) for number in range(3)])
    for number in range(20):
        # Whatever LiteLLM notes in there, nothing of it is read.
        noted = [{**deployment(each), "updated_at": number} for each in range(3)]
        assert candidates.lookup("g", noted) is first
        pool.release(picked(pool, candidates, "g", noted).reservation)
    assert candidates.misses == 1


def test_of_lists_with_the_same_ends_so_many_are_known_at_most() -> None:
    pool, candidates = made()
    first, last = deployment(0), deployment(99)
    for number in range(1, 90):
        picked(pool, candidates, "g", [first, deployment(number), last])
    assert len(candidates.candidate_sets()) == MAX_SAME_ENDS


def test_an_equal_deployment_takes_the_place_of_another_one() -> None:
    pool, candidates = made()
    deployments = [deployment(number) for number in range(3)]
    picked(pool, candidates, "g", deployments)
    deployments[1] = deployment(1)
    for _ in range(20):
        picked(pool, candidates, "g", deployments)
    assert candidates.misses == 1


def test_those_that_were_asked_for_last_are_remembered() -> None:
    pool, candidates = made(most=3)
    lists = [[deployment(number)] for number in range(4)]
    for each in (0, 1, 2, 0, 3):
        picked(pool, candidates, "g", lists[each])
    misses = candidates.misses
    for each in (0, 2, 3):
        picked(pool, candidates, "g", lists[each])
    assert candidates.misses == misses
    picked(pool, candidates, "g", lists[1])
    assert candidates.misses == misses + 1


@pytest.mark.parametrize(
    ("one", "has_tags", "has_order"),
    [
        (deployment(1), False, False),
        (deployment(1, tags=["a"]), True, False),
        (deployment(1, tag_regex=["^a"]), True, False),
        (deployment(1, order=1), False, True),
        (deployment(1, order=0), False, True),
        ({"litellm_params": {}, "model_info": {"id": "d", "enable_tag_filtering": True}}, True, False),
        ({}, False, False),
    ],
)
def test_it_is_known_what_must_be_looked_at_besides(one: object, has_tags: bool, has_order: bool) -> None:  # noqa: FBT001
    _, candidates = made()
    cached = candidates.lookup("g", [deployment(0), one])
    assert (cached.has_tags, cached.has_order) == (has_tags, has_order)


def used(pool: AccountPool, candidates: CandidateCache, model: str, deployments: list[dict[str, object]]) -> None:
    """Make a request that ends at once."""
    pool.settle(picked(pool, candidates, model, deployments).reservation, SINGLE_REQUEST)


class Time:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_models_that_nobody_has_heard_of_fill_no_memory() -> None:
    pool, candidates = made(most=20)
    wildcard = deployment(1, model="openai/*")
    for number in range(100):
        used(pool, candidates, f"made-up-{number}", [wildcard])
    account = next(iter(pool.scopes.values()))
    assert len(pool.deployments) == len(pool.deployments_of(account)) == 20
    pool.evict_idle()
    assert len(pool.scopes) == 1 + 20


def test_what_was_used_and_what_is_held_outlives_the_deployment() -> None:
    pool, candidates = made(most=1)
    both = {"account": "a", "limits": {"rpm": 10}}
    first, second = ({**deployment(each), "model_info": {"id": f"d{each}", **both}} for each in (1, 2))
    used(pool, candidates, "g", [first])
    reservation = picked(pool, candidates, "g", [first]).reservation
    used(pool, candidates, "g", [deployment(3)])
    # It has a request under way.
    assert ("d1", "m") in pool.deployments
    pool.fail(reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT_MODEL, None, "no such model"))
    pool.evict_idle()
    assert ("d1", "m") not in pool.deployments
    candidates.lookup("g", [second])
    assert pool.scopes["a", None].windows[0].available(pool.now()) == 8
    assert pool.scopes["a", "m"].cooldown.state(pool.now()) is HealthState.QUARANTINED


def test_an_account_goes_after_its_models() -> None:
    pool, candidates = made(most=1)
    used(pool, candidates, "g", [deployment(1, rpm=5, api_key="k")])
    used(pool, candidates, "g", [deployment(2)])
    pool.evict_idle()
    assert sorted(len(several) for several in scopes_by_account(pool).values()) == [2, 2]


def test_a_quarantine_outlives_all_that_is_remembered_of_an_account() -> None:
    pool, candidates = made(most=1)
    dead = deployment(1, api_key="k")
    pool.fail(
        picked(pool, candidates, "g", [dead]).reservation,
        Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked"),
    )
    for number in range(MAX_IDLE_SCOPES + 10):
        used(pool, candidates, "g", [deployment(number, api_key=f"other {number}")])
    assert len(pool.scopes) <= MAX_IDLE_SCOPES + 2
    assert isinstance(pool.pick(candidates.lookup("g", [dead]).candidates, PickRequest()), NoCapacity)


def test_what_was_deleted_bounds_its_account_no_more() -> None:
    clock = Time()
    pool = AccountPool(RotationSettings(), clock=clock, random=random.Random(5).random)
    candidates = CandidateCache(pool, seat)
    low, high = (
        {**deployment(rpm), "model_info": {"id": str(rpm), "account": "a", "limits": {"rpm": rpm}}} for rpm in (5, 50)
    )
    used(pool, candidates, "g", [low, high])
    for _ in range(3 * REQUESTS_PER_CLOCK_READ):
        clock.now += 3 * IDLE_SECONDS / REQUESTS_PER_CLOCK_READ
        candidates.lookup("g", [high])
    assert [window.limit.amount for window in pool.scopes["a", None].windows] == [50]
    assert len(candidates.candidate_sets()) == 1


def test_of_too_many_lists_the_one_that_was_asked_for_longest_ago_goes() -> None:
    _, candidates = made(most=2)
    first, second, third = ([deployment(number)] for number in (1, 2, 3))
    kept = candidates.lookup("g", first).candidates
    candidates.lookup("g", second)
    candidates.lookup("g", first)
    candidates.lookup("g", third)
    assert candidates.lookup("g", first).candidates is kept
    assert len(candidates.candidate_sets()) == 2


def test_a_group_of_former_candidates_is_made_anew() -> None:
    pool, candidates = made()
    first, last = deployment(1), deployment(3)
    cached = candidates.lookup("g", [first, deployment(2), last])
    # An operator has changed one of them, and another list has it first.
    changed = {**deployment(2), "model_info": {"id": "d2", "weight": 2}}
    candidates.lookup("h", [changed])
    assert pool.pick(cached.candidates, PickRequest()) is None
    found = picked(pool, candidates, "g", [first, changed, last])
    assert candidates.lookup("g", [first, changed, last]).candidates is not cached.candidates
    assert found.deployment is pool.deployments[found.deployment.spec.id, "m"]
    assert not any(known.is_retired for known in candidates.candidate_sets())
    assert pool.candidate_sets.sets_of(found.deployment)
