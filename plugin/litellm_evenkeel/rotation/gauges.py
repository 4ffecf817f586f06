"""What of the rotation is read when somebody looks: states, limits, what is under way, as samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from litellm_evenkeel.rotation import series
from litellm_evenkeel.rotation.holds import State
from litellm_evenkeel.rotation.labels import OTHER
from litellm_evenkeel.rotation.standing import side_standing, sides
from litellm_evenkeel.scraping import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.labels import Labels
    from litellm_evenkeel.rotation.pool import Pool
    from litellm_evenkeel.rotation.side import Side
    from litellm_evenkeel.rotation.standing import SideStanding
    from litellm_evenkeel.rotation.sticky import StickyCounts

# Looking at more would keep requests waiting: accounts as a whole and models at them, together.
MOST_SIDES = 500
SESSIONS = ("hits", "misses", "escapes", "repins", "refused", "evicted", "adopted")


class Watched(Protocol):
    """What is looked at: the rotation of one worker."""

    @property
    def pool(self) -> Pool:
        """All accounts."""

    def now(self) -> float:
        """Return the time by the pool's clock."""

    def groups(self) -> Sequence[Group]:
        """Return all sets of candidates that are in use."""

    def sticky_counts(self) -> StickyCounts:
        """Return what has happened to sessions."""

    def waiting(self) -> Mapping[str, int]:
        """Return how many requests wait for each model group."""

    def route_cache(self) -> tuple[int, int]:
        """Return how many lists of candidates were known, and were not."""


class Gauges:
    """All samples of one worker, whenever they are asked for."""

    def __init__(
        self,
        watched: Watched,
        accounts: Labels,
        models: Labels,
        is_shared: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self._watched, self._accounts, self._models, self._is_shared = watched, accounts, models, is_shared

    def samples(self) -> Iterator[Sample]:
        """Yield them."""
        now = self._watched.now()
        yield from self._of_accounts(now)
        yield from self._of_sessions()
        waiting: dict[str, int] = {}
        for group, number in self._watched.waiting().items():
            label = self._models.of(group)
            waiting[label] = waiting.get(label, 0) + number
        for label, number in waiting.items():
            yield Sample(series.WAITING, (label,), number)
        ages = [now - group.snapshot.taken for group in self._watched.groups()]
        yield Sample(series.SNAPSHOT_AGE, (), max(ages, default=0.0))
        hits, misses = self._watched.route_cache()
        yield Sample(series.ROUTE_CACHE, ("hit",), hits)
        yield Sample(series.ROUTE_CACHE, ("miss",), misses)
        is_shared = self._is_shared()
        if is_shared is not None:
            yield Sample(series.SHARED_CONNECTED, (), float(is_shared))

    def _of_accounts(self, now: float) -> Iterator[Sample]:
        looked_at = 0
        others: list[Side] = []
        for account, several in sides(self._watched.pool).items():
            looked_at += len(several)
            if self._accounts.of(account) == OTHER or looked_at > MOST_SIDES:
                others.append(several[0])
                continue
            for side in several:
                yield from _of_side(account, side_standing(side, now))
        if others:
            # So many that each can only be glanced at.
            yield Sample(series.IN_FLIGHT, (OTHER,), sum(side.in_flight for side in others))
            held = [side.hold.until - now for side in others if side.hold.kind is not None]
            yield Sample(series.HOLD_SECONDS, (OTHER, "", "any"), max(held, default=0.0))

    def _of_sessions(self) -> Iterator[Sample]:
        counts = self._watched.sticky_counts()
        pins: dict[str, int] = {}
        for account, number in counts.accounts.items():
            label = self._accounts.of(account)
            pins[label] = pins.get(label, 0) + number
        for label, number in pins.items():
            yield Sample(series.PINS, (label,), number)
        for kind in SESSIONS:
            yield Sample(series.SESSIONS, (kind,), getattr(counts, kind))
        worth = counts.worth
        for reason, gained in (("misses", worth.gained_over_misses), ("away", worth.gained_over_away)):
            if gained is not None:
                yield Sample(series.GAINED_TOKENS, (reason,), gained)


def _of_side(account: str, one: SideStanding) -> Iterator[Sample]:
    model = one.model or ""
    if one.model is None:
        yield Sample(series.IN_FLIGHT, (account,), one.in_flight)
    if one.kind is not None:
        left = math.inf if one.state is State.QUARANTINED else one.held_for or 0.0
        yield Sample(series.HOLD_SECONDS, (account, model, one.kind.value), left)
    yield Sample(series.TRAFFIC_SHARE, (account, model), one.share)
    if one.latency is not None and one.model is not None:
        yield Sample(series.LATENCY_SECONDS, (account, model), one.latency)
    for window in one.windows:
        labels = (account, model, window.name)
        yield Sample(series.LEFT_SHARE, labels, 1 - window.used_share)
        runs_out = math.inf if window.runs_out_in is None else window.runs_out_in
        yield Sample(series.EXHAUSTION_SECONDS, labels, runs_out)
