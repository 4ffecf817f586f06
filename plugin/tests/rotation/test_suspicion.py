"""What may be forbidden to one request only takes more than one client's insistence to take an account from all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.holds import State
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.need import ONE
from litellm_evenkeel.rotation.signals import Signal
from litellm_evenkeel.rotation.suspicion import ALONE_SECONDS, PROOF, Suspicion

if TYPE_CHECKING:
    from conftest import World

    from litellm_evenkeel.rotation.group import Group

FORBIDDEN = Signal(Kind.PERMANENT, Scope.ACCOUNT, None, "forbidden", is_certain=False)


def refused(world: World, group: Group, *clients: str, each: float = 1.0) -> State:
    """Let requests of clients be refused one after the other; return what becomes of the account."""
    for client in clients:
        lease = world.pick(group, Asked(client=client)).lease
        world.now += each
        world.pool.fail(lease, FORBIDDEN)
    return group.places[0].account.hold.state(world.now)


def test_one_client_alone_takes_long_to_prove_an_account_dead(world: World) -> None:
    group = world.group(world.seat("a"))
    assert refused(world, group, *["x"] * 20) is State.OPEN
    # Meanwhile only this model is held there, by a guess.
    assert group.places[0].model.hold.state(world.now) is State.HELD
    world.now += ALONE_SECONDS
    assert refused(world, group, "x") is State.QUARANTINED


def test_several_clients_soon_prove_it(world: World) -> None:
    group = world.group(world.seat("a"))
    assert refused(world, group, "x", "x") is State.OPEN
    assert refused(world, group, "y") is State.QUARANTINED


def test_each_success_and_each_release_begins_anew(world: World) -> None:
    group = world.group(world.seat("a"))
    for anew in (lambda: world.pool.settle(world.pick(group).lease, ONE), lambda: world.pool.release_account("a")):
        assert refused(world, group, "x", "y") is State.OPEN
        anew()
    assert refused(world, group, "x", "y") is State.OPEN


def test_those_that_were_under_way_together_are_one() -> None:
    one = Suspicion()
    assert not any(one.is_proved(str(client), 100.0, 101.0) for client in range(20))
    proofs = [one.is_proved("x", 101.0 + each, 102.0 + each) for each in range(PROOF - 1)]
    assert proofs == [False, True]
