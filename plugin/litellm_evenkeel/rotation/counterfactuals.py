"""What would have to change for a candidate to be chosen, in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from litellm_evenkeel.rotation import said, what_if
from litellm_evenkeel.rotation.bars import Bar, Why
from litellm_evenkeel.rotation.picks import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from litellm_evenkeel.rotation.asked import Asked
    from litellm_evenkeel.rotation.chances import Chances
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.place import Place

HELD = frozenset({Why.HELD, Why.PROBING, Why.QUARANTINED})


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the sentences are made from."""

    twin: Group
    asked: Asked
    now: float
    chances: Chances
    best: int | None
    """The position of the one that is chosen most often."""
    first: tuple[str, ...]
    """The accounts that are chosen at all."""
    weights: Mapping[int, float]
    """Of all candidates of a tier."""

    @classmethod
    def of(cls, twin: Group, asked: Asked, now: float, chances: Chances) -> Self:
        """Put together what is known."""
        weights = {tier.priority: tier.reach[-1] for tier in twin.snapshot.tiers}
        first = tuple(sorted({twin.places[one].seat.account for one in chances.shares}))
        return cls(twin, asked, now, chances, chances.likeliest, first, weights)

    def score(self, position: int, place: Place | None = None) -> float:
        """Return a candidate's score, as it is or as it would be."""
        one = place or self.twin.places[position]
        return self.twin.strategy.score(position, one, self.asked, self.now)


def changes(position: int, scene: Scene) -> Iterator[str]:
    """Yield what would have to change; several where all of it would, nothing for the one that is chosen."""
    if position == scene.best:
        return
    place = scene.twin.places[position]
    if place.seat.id in scene.asked.tried:
        yield "this request has failed there: it is tried again only when no other is left"
    bar = place.bar(scene.asked.need, scene.now)
    if bar is not None:
        yield _opens(bar, place, scene.now)
        limit = place.limits_bar(scene.asked.need, scene.now) if bar.why in HELD else None
        if limit is not None:
            yield _opens(limit, place, scene.now)
    elif scene.best is not None and place.seat.id not in scene.asked.tried:
        yield from _among_open(position, place, scene.best, scene)


def _among_open(position: int, place: Place, best: int, scene: Scene) -> Iterator[str]:
    chosen = scene.twin.places[best].seat
    if scene.chances.reasons[best] is Reason.STICKY:
        yield f"the session sticks to {chosen.account}"
        return
    if not scene.twin.snapshot.weights[position]:
        age = scene.now - scene.twin.snapshot.taken
        ago = said.time(max(age, 0.0))
        yield f"it was shut to a usual request when the snapshot was made, {ago} ago: till the next, others go first"
        return
    if place.seat.priority > chosen.priority:
        yield f"nobody of tier {chosen.priority} has room: {said.names(scene.first)} would have to be shut"
        return
    ramp = place.share(scene.now)
    if ramp < 1:
        yield f"it is on its way back from a hold, with {said.share(ramp)} of its traffic so far"
    if position in scene.chances.possible:
        yield _is_chance(position, place, scene)
    if not scene.twin.strategy.is_by_turn:
        yield _scores(position, place, best, scene)
    elif position not in scene.chances.possible:
        yield f"its turn comes, after {chosen.account}"


def _is_chance(position: int, place: Place, scene: Scene) -> str:
    weight, of_tier = scene.twin.snapshot.weights[position], scene.weights[place.seat.priority]
    chance = scene.chances.shares.get(position, 0.0)
    told = f"{said.share(chance)} of requests" if chance else f"fewer than one in {scene.chances.samples}"
    return f"by chance it gets {told}: it is drawn with weight {weight:.3g} of {of_tier:.3g}"


def _scores(position: int, place: Place, best: int, scene: Scene) -> str:
    to_beat, has = scene.score(best), scene.score(position)
    if has >= to_beat:
        return f"its score {has:.3g} is no worse than that of {scene.twin.places[best].seat.account}"
    lack = f"score {to_beat:.3g} needed, has {has:.3g}"
    change = what_if.needed(place, scene.now, lambda other: scene.score(position, other) >= to_beat)
    return f"{lack}: {change}" if change else f"{lack}: it would have less even if nothing of it were used"


def _opens(bar: Bar, place: Place, now: float) -> str:
    opens_in = max(bar.opens_at - now, 0.0)
    return SENTENCES[bar.why](bar, place, said.time(opens_in) if opens_in < math.inf else "")


def _quarantined(bar: Bar, place: Place, _: str) -> str:
    return f"an operator releases it ({bar.what}): POST /evenkeel/accounts/{quote(place.seat.account)}/release"


def _held(bar: Bar, _: Place, soon: str) -> str:
    guess = "" if bar.is_sure else "; nobody said how long, so it is also taken when all others are shut"
    return f"its hold ends in {soon} ({bar.what}){guess}"


def _probing(bar: Bar, _: Place, soon: str) -> str:
    return f"the request that probes it succeeds, or is given up in {soon} ({bar.what})"


def _trial(bar: Bar, _: Place, soon: str) -> str:
    return f"the request that finds out about {bar.what} comes back, or does not in {soon}"


def _used_up(bar: Bar, _: Place, soon: str) -> str:
    missing = max(bar.wanted - bar.left, 0.0)
    unit = bar.what.partition("/")[0]
    unit = unit.removesuffix("s") if missing == 1 else unit
    when = f"in {soon}" if soon else "never"
    return f"frees {said.amount(missing)} {unit} {when} ({bar.what}: {said.amount(max(bar.left, 0.0))} left)"


def _busy(_: Bar, place: Place, __: str) -> str:
    return f"one of its {place.account.in_flight} requests under way ends"


def _shared(_: Bar, __: Place, soon: str) -> str:
    return f"its client gets another part of what is left, in {soon}"


SENTENCES: Mapping[Why, Callable[[Bar, Place, str], str]] = {
    Why.QUARANTINED: _quarantined,
    Why.HELD: _held,
    Why.PROBING: _probing,
    Why.TRIAL: _trial,
    Why.WINDOW: _used_up,
    Why.CONCURRENT: _busy,
    Why.SHARED: _shared,
}
