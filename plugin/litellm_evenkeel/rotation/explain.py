"""Why the next pick is what it is: the live choice, tried out without taking anything, and what each loser lacks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation import said
from litellm_evenkeel.rotation.chances import SAMPLES, Coin, chances
from litellm_evenkeel.rotation.counterfactuals import Scene, changes
from litellm_evenkeel.rotation.explanation import Candidate, Explanation, Obstacle

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.bars import Bar
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.picks import Full
    from litellm_evenkeel.rotation.pool import Pool

# After so many candidates, others get the thread.
SLICE = 16


def explain(
    pool: Pool, group: Group, asked: Asked, now: float, *, random: Callable[[], float], samples: int = SAMPLES
) -> Explanation:
    """Say what a pick would be now; `random` is not the pool's own source, so that its next draws stay the same."""
    steps = explaining(pool, group, asked, now, random=random, samples=samples)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Explanation = end.value
            return found


def explaining(
    pool: Pool, group: Group, asked: Asked, now: float, *, random: Callable[[], float], samples: int = SAMPLES
) -> Generator[None, None, Explanation]:
    """Say the same, and yield at times; what happens meanwhile is partly in it."""
    pool.expire(now)
    coin = Coin(random)
    twin = pool.twin(group, coin)
    found = yield from chances(twin, asked, now, coin, samples)
    scene = Scene.of(twin, asked, now, found)
    candidates = []
    for position in range(len(twin.places)):
        if position % SLICE == SLICE - 1:
            yield
        candidates.append(_candidate(position, scene))
    candidates.sort(key=lambda one: (-one.chance, not one.is_possible, one.tier, -(one.score or 0.0)))
    best = found.likeliest
    return Explanation(
        model=group.name,
        asked=asked,
        strategy=str(pool.terms.strategy),
        snapshot_age=max(now - twin.snapshot.taken, 0.0),
        verdict=_verdict(scene),
        chosen=None if best is None else twin.places[best].seat.account,
        opens_in=found.full.opens_in if found.full else None,
        samples=found.samples,
        candidates=tuple(candidates),
    )


def _candidate(position: int, scene: Scene) -> Candidate:
    place, now = scene.twin.places[position], scene.now
    seat, found = place.seat, scene.chances
    bar = place.bar(scene.asked.need, now)
    return Candidate(
        account=seat.account,
        deployment=seat.id,
        model=seat.model,
        tier=seat.priority,
        chance=found.shares.get(position, 0.0),
        is_possible=position in found.possible,
        reason=found.reasons.get(position),
        score=scene.score(position),
        weight=scene.twin.snapshot.weights[position],
        account_state=place.account.hold.state(now),
        model_state=place.model.hold.state(now),
        obstacle=None if bar is None else _obstacle(bar, now),
        ramp=place.share(now),
        in_flight=place.account.in_flight,
        latency=place.latency.lately(now) or None,
        changes=tuple(changes(position, scene)),
    )


def _obstacle(bar: Bar, now: float) -> Obstacle:
    return Obstacle(bar.why, bar.what, max(bar.opens_at - now, 0.0), bar.is_sure, bar.wanted, bar.left)


def _verdict(scene: Scene) -> str:
    found, best = scene.chances, scene.best
    if best is None:
        return _nobody(found.full)
    account = scene.twin.places[best].seat.account
    if found.samples == 1 or {scene.twin.places[one].seat.account for one in found.possible} == {account}:
        return f"{account} is chosen ({found.reasons[best]})"
    others = [
        f"{scene.twin.places[position].seat.account} {said.share(chance)}"
        for position, chance in sorted(found.shares.items(), key=lambda one: -one[1])
        if position != best
    ]
    also = f", then {said.names(others)}" if others else ""
    return f"{account} gets {said.share(found.shares[best])} of such requests ({found.reasons[best]}){also}"


def _nobody(full: Full | None) -> str:
    if full is None or full.bar is None:
        return "nobody: there are no candidates"
    if full.opens_in == math.inf:
        return f"nobody: {full.bar.why}, and waiting does not help"
    what = f" ({full.bar.what})" if full.bar.what else ""
    return f"nobody now; the first opens in {said.time(full.opens_in)}: {full.bar.why}{what}"
