"""What would have to change for a candidate to be chosen, in sentences."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.selection.pick import PickReason
from litellm_evenkeel.rotation.state.latency import PeakEwma
from litellm_evenkeel.support import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from litellm_evenkeel.rotation.inspection.simulation import SelectionOdds
    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.account_scope import AccountScope
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState
    from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

# Halved so often, a change is known to a thousandth.
HALVINGS = 10


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that could be otherwise, by a share of it from 0 (as it is) to 1 (all of it)."""

    applied: Callable[[DeploymentState, float], DeploymentState]
    say: Callable[[float], str]


def needed(deployment: DeploymentState, now: float, is_enough: Callable[[DeploymentState], bool]) -> str | None:
    """Say which one change would be enough, and how much of it, or of all together; None if even that is not."""
    several = list(_changes(deployment, now))
    for change in (*several, _together(several)):
        if not is_enough(change.applied(deployment, 1.0)):
            continue
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(change.applied(deployment, middle)) else (middle, high)
        return change.say(high)
    return None


def _changes(deployment: DeploymentState, now: float) -> Iterator[Change]:
    for name in ("account", "model"):
        scope: AccountScope = getattr(deployment, name)
        for number, window in enumerate(scope.windows):
            yield _less_used(name, number, window, window.limit.amount - window.available(now))
    if deployment.account.in_flight:
        yield _fewer(deployment.account.in_flight)
    if deployment.latency.seconds:
        yield _faster(deployment.latency.current(now), now)


def _less_used(name: str, number: int, window: QuotaWindow, used: float) -> Change:
    def applied(place: DeploymentState, share: float) -> DeploymentState:
        scope: AccountScope = copy(getattr(place, name))
        windows = list(scope.windows)
        windows[number] = windows[number].with_less_used(share * used)
        scope.windows = tuple(windows)
        return _with(place, **{name: scope})

    def say(share: float) -> str:
        part = share * used
        less = formatting.share(part / window.limit.amount)
        return f"{less} less of {window.limit.name} used ({formatting.amount(part)})"

    return Change(applied, say)


def _fewer(under_way: int) -> Change:
    def applied(place: DeploymentState, share: float) -> DeploymentState:
        left = under_way - round(share * under_way)
        account, model = copy(place.account), copy(place.model)
        account.in_flight, model.in_flight = left, min(left, model.in_flight)
        return _with(place, account=account, model=model, reservations=place.reservations if left else {})

    return Change(applied, lambda share: f"{round(share * under_way)} fewer of its {under_way} requests under way")


def _faster(lately: float, now: float) -> Change:
    def applied(place: DeploymentState, share: float) -> DeploymentState:
        latency = PeakEwma()
        latency.observe(now, lately * (1 - share))
        return _with(place, latency=latency)

    return Change(
        applied,
        lambda share: f"answers in {formatting.time(lately * (1 - share))} instead of {formatting.time(lately)}",
    )


def _together(several: Sequence[Change]) -> Change:
    def applied(place: DeploymentState, share: float) -> DeploymentState:
        for change in several:
            place = change.applied(place, share)
        return place

    return Change(applied, lambda share: f"{formatting.share(share)} less of all: used, under way, and time to answer")


def _with(deployment: DeploymentState, **parts: object) -> DeploymentState:
    found = deployment.twin()
    for name, part in parts.items():
        setattr(found, name, part)
    return found


HELD = frozenset({BlockReason.COOLDOWN, BlockReason.PROBING, BlockReason.QUARANTINED})


@dataclass(frozen=True, slots=True)
class ExplainContext:
    """All that the sentences are made from."""

    twin: CandidateSet
    request: PickRequest
    now: float
    chances: SelectionOdds
    best: int | None
    """The position of the one that is chosen most often."""
    first: tuple[str, ...]
    """The accounts that are chosen at all."""
    weights: Mapping[int, float]
    """Of all candidates of a tier."""

    @classmethod
    def of(cls, twin: CandidateSet, request: PickRequest, now: float, chances: SelectionOdds) -> Self:
        """Put together what is known."""
        weights = {tier.priority: tier.cumulative_weights[-1] for tier in twin.snapshot.tiers}
        first = tuple(sorted({twin.deployments[one].spec.account for one in chances.shares}))
        return cls(twin, request, now, chances, chances.likeliest, first, weights)

    def score(self, position: int, deployment: DeploymentState | None = None) -> float:
        """Return a candidate's score, as it is or as it would be."""
        one = deployment or self.twin.deployments[position]
        return self.twin.strategy.score(position, one, self.request, self.now)


def required_changes(position: int, scene: ExplainContext) -> Iterator[str]:
    """Yield what would have to change; several where all of it would, nothing for the one that is chosen."""
    if position == scene.best:
        return
    deployment = scene.twin.deployments[position]
    if deployment.spec.id in scene.request.excluded:
        yield "this request has failed there: it is tried again only when no other is left"
    blocker = deployment.blocker(scene.request.usage, scene.now)
    if blocker is not None:
        yield _opens(blocker, deployment, scene.now)
        limit = deployment.limit_blocker(scene.request.usage, scene.now) if blocker.reason in HELD else None
        if limit is not None:
            yield _opens(limit, deployment, scene.now)
    elif scene.best is not None and deployment.spec.id not in scene.request.excluded:
        yield from _among_open(position, deployment, scene.best, scene)


def _among_open(position: int, deployment: DeploymentState, best: int, scene: ExplainContext) -> Iterator[str]:
    chosen = scene.twin.deployments[best].spec
    if scene.chances.reasons[best] is PickReason.STICKY:
        yield f"the session sticks to {chosen.account}"
        return
    if not scene.twin.snapshot.weights[position]:
        age = scene.now - scene.twin.snapshot.taken
        ago = formatting.time(max(age, 0.0))
        yield f"it was shut to a usual request when the snapshot was made, {ago} ago: till the next, others go first"
        return
    if deployment.spec.priority > chosen.priority:
        yield f"nobody of tier {chosen.priority} has room: {formatting.names(scene.first)} would have to be shut"
        return
    ramp = deployment.traffic_share(scene.now)
    if ramp < 1:
        yield f"it is on its way back from a hold, with {formatting.share(ramp)} of its traffic so far"
    if position in scene.chances.possible:
        yield _is_chance(position, deployment, scene)
    if not scene.twin.strategy.is_by_turn:
        yield _scores(position, deployment, best, scene)
    elif position not in scene.chances.possible:
        yield f"its turn comes, after {chosen.account}"


def _is_chance(position: int, deployment: DeploymentState, scene: ExplainContext) -> str:
    weight, of_tier = scene.twin.snapshot.weights[position], scene.weights[deployment.spec.priority]
    chance = scene.chances.shares.get(position, 0.0)
    told = f"{formatting.share(chance)} of requests" if chance else f"fewer than one in {scene.chances.samples}"
    return f"by chance it gets {told}: it is drawn with weight {weight:.3g} of {of_tier:.3g}"


def _scores(position: int, deployment: DeploymentState, best: int, scene: ExplainContext) -> str:
    to_beat, has = scene.score(best), scene.score(position)
    if has >= to_beat:
        return f"its score {has:.3g} is no worse than that of {scene.twin.deployments[best].spec.account}"
    lack = f"score {to_beat:.3g} needed, has {has:.3g}"
    change = needed(deployment, scene.now, lambda other: scene.score(position, other) >= to_beat)
    return f"{lack}: {change}" if change else f"{lack}: it would have less even if nothing of it were used"


def _opens(blocker: Blocker, deployment: DeploymentState, now: float) -> str:
    opens_in = max(blocker.until - now, 0.0)
    return SENTENCES[blocker.reason](blocker, deployment, formatting.time(opens_in) if opens_in < math.inf else "")


def _quarantined(blocker: Blocker, deployment: DeploymentState, _: str) -> str:
    return (
        f"an operator releases it ({blocker.detail}): POST /evenkeel/accounts/{quote(deployment.spec.account)}/release"
    )


def _held(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    guess = "" if blocker.is_confirmed else "; nobody said how long, so it is also taken when all others are shut"
    return f"its hold ends in {soon} ({blocker.detail}){guess}"


def _probing(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    return f"the request that probes it succeeds, or is given up in {soon} ({blocker.detail})"


def _trial(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    return f"the request that finds out about {blocker.detail} comes back, or does not in {soon}"


def _used_up(blocker: Blocker, _: DeploymentState, soon: str) -> str:
    missing = max(blocker.needed - blocker.available, 0.0)
    unit = blocker.detail.partition("/")[0]
    unit = unit.removesuffix("s") if missing == 1 else unit
    when = f"in {soon}" if soon else "never"
    left = formatting.amount(max(blocker.available, 0.0))
    return f"frees {formatting.amount(missing)} {unit} {when} ({blocker.detail}: {left} left)"


def _busy(_: Blocker, deployment: DeploymentState, __: str) -> str:
    return f"one of its {deployment.account.in_flight} requests under way ends"


def _shared(_: Blocker, __: DeploymentState, soon: str) -> str:
    return f"its client gets another part of what is left, in {soon}"


SENTENCES: Mapping[BlockReason, Callable[[Blocker, DeploymentState, str], str]] = {
    BlockReason.QUARANTINED: _quarantined,
    BlockReason.COOLDOWN: _held,
    BlockReason.PROBING: _probing,
    BlockReason.ESTIMATE_PROBE: _trial,
    BlockReason.LIMIT: _used_up,
    BlockReason.CONCURRENCY: _busy,
    BlockReason.FAIR_SHARE: _shared,
}
