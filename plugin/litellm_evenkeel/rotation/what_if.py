"""What would make a candidate as good as another: its score by the strategy itself, of what it would be like."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation import said
from litellm_evenkeel.rotation.latency import Latency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.rotation.place import Place
    from litellm_evenkeel.rotation.side import Side
    from litellm_evenkeel.rotation.windows import Window

# Halved so often, a change is known to a thousandth.
HALVINGS = 10


class Change:
    """One thing that could be otherwise, by a share of it from 0 (as it is) to 1 (all of it)."""

    def __init__(self, applied: Callable[[float], Place], say: Callable[[float], str]) -> None:
        self.applied, self.say = applied, say


def needed(place: Place, now: float, is_enough: Callable[[Place], bool]) -> str | None:
    """Say which one change would be enough, and how much of it; None if none alone is."""
    for change in _changes(place, now):
        if not is_enough(change.applied(1.0)):
            continue
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(change.applied(middle)) else (middle, high)
        return change.say(high)
    return None


def _changes(place: Place, now: float) -> Iterator[Change]:
    for name in ("account", "model"):
        side: Side = getattr(place, name)
        for number, window in enumerate(side.windows):
            yield _less_used(place, name, number, window, window.limit.amount - window.left(now))
    if place.account.in_flight:
        yield _fewer(place)
    if place.latency.seconds:
        yield _faster(place, now)


def _less_used(place: Place, name: str, number: int, window: Window, used: float) -> Change:
    def applied(share: float) -> Place:
        side: Side = copy(getattr(place, name))
        windows = list(side.windows)
        windows[number] = window.with_less_used(share * used)
        side.windows = tuple(windows)
        return _with(place, **{name: side})

    def say(share: float) -> str:
        part = share * used
        return f"{said.share(part / window.limit.amount)} less of {window.limit.name} used ({said.amount(part)})"

    return Change(applied, say)


def _fewer(place: Place) -> Change:
    under_way = place.account.in_flight

    def applied(share: float) -> Place:
        left = under_way - round(share * under_way)
        account, model = copy(place.account), copy(place.model)
        account.in_flight, model.in_flight = left, min(left, model.in_flight)
        leases = {} if not left else place.leases
        return _with(place, account=account, model=model, leases=leases)

    def say(share: float) -> str:
        return f"{round(share * under_way)} fewer of its {under_way} requests under way"

    return Change(applied, say)


def _faster(place: Place, now: float) -> Change:
    lately = place.latency.lately(now)

    def applied(share: float) -> Place:
        latency = Latency()
        latency.observe(now, lately * (1 - share))
        return _with(place, latency=latency)

    return Change(applied, lambda share: f"answers in {said.time(lately * (1 - share))} instead of {said.time(lately)}")


def _with(place: Place, **parts: object) -> Place:
    found = place.twin()
    for name, part in parts.items():
        setattr(found, name, part)
    return found
