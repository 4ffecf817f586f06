"""What would make a candidate as good as another: its score by the strategy itself, of what it would be like."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation import said
from litellm_evenkeel.rotation.latency import PeakEwma

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.place import DeploymentState
    from litellm_evenkeel.rotation.side import AccountScope
    from litellm_evenkeel.rotation.windows import QuotaWindow

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
        return f"{said.share(part / window.limit.amount)} less of {window.limit.name} used ({said.amount(part)})"

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

    return Change(applied, lambda share: f"answers in {said.time(lately * (1 - share))} instead of {said.time(lately)}")


def _together(several: Sequence[Change]) -> Change:
    def applied(place: DeploymentState, share: float) -> DeploymentState:
        for change in several:
            place = change.applied(place, share)
        return place

    return Change(applied, lambda share: f"{said.share(share)} less of all: used, under way, and time to answer")


def _with(deployment: DeploymentState, **parts: object) -> DeploymentState:
    found = deployment.twin()
    for name, part in parts.items():
        setattr(found, name, part)
    return found
