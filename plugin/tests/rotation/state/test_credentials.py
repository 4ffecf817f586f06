"""Failures that may concern one request only quarantine an account only if several clients have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST, PickRequest
from litellm_evenkeel.rotation.state.cooldown import ESTIMATE_PROBE_PAUSE, HealthState
from litellm_evenkeel.rotation.state.credentials import MIN_FORBIDDEN, SINGLE_CLIENT_SECONDS, ForbiddenStreak

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet

FORBIDDEN = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "forbidden", is_certain=False)


def refused(world: World, candidates: CandidateSet, *clients: str, each: float = 1.0) -> HealthState:
    """Fail requests of clients one after the other, and return the state of the account."""
    for client in clients:
        reservation = world.pick(candidates, PickRequest(client=client)).reservation
        world.now += each
        world.pool.fail(reservation, FORBIDDEN)
        world.now += ESTIMATE_PROBE_PAUSE
    return candidates.deployments[0].account.cooldown.state(world.now)


def test_one_client_alone_takes_long_to_prove_an_account_dead(world: World) -> None:
    candidates = world.group(world.seat("a"))
    assert refused(world, candidates, *["x"] * 20) is HealthState.HEALTHY
    # Meanwhile only this model is held there, by a guess.
    assert candidates.deployments[0].model.cooldown.state(world.now) is HealthState.COOLING_DOWN
    world.now += SINGLE_CLIENT_SECONDS
    assert refused(world, candidates, "x") is HealthState.QUARANTINED


def test_several_clients_soon_prove_it(world: World) -> None:
    candidates = world.group(world.seat("a"))
    assert refused(world, candidates, "x", "x") is HealthState.HEALTHY
    assert refused(world, candidates, "y") is HealthState.QUARANTINED


def test_each_success_and_each_release_begins_anew(world: World) -> None:
    candidates = world.group(world.seat("a"))
    for anew in (
        lambda: world.pool.settle(world.pick(candidates).reservation, SINGLE_REQUEST),
        lambda: world.pool.release_account("a"),
    ):
        assert refused(world, candidates, "x", "y") is HealthState.HEALTHY
        anew()
    assert refused(world, candidates, "x", "y") is HealthState.HEALTHY


def test_those_that_were_under_way_together_are_one() -> None:
    one = ForbiddenStreak()
    assert not any(one.record_forbidden(str(client), 100.0, 101.0) for client in range(20))
    proofs = [one.record_forbidden("x", 101.0 + each, 102.0 + each) for each in range(MIN_FORBIDDEN - 1)]
    assert proofs == [False, True]
