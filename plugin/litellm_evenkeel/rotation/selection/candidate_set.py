"""One set of candidates for one model: their places in order, the snapshot selection reads, and a strategy's memory."""

from __future__ import annotations

import math
from copy import copy
from statistics import median_low
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.request import TYPICAL_USAGE, Usage
from litellm_evenkeel.rotation.selection.snapshot import Snapshot
from litellm_evenkeel.rotation.state.fair_share import FairShare, RemainingCapacity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.selection.strategies import Strategy
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# After so many candidates, a rebuild lets others have the thread.
SLICE = 256
# A candidate's weight has changed if it is this many times what it was, or less than one in so many.
CHANGED = 1.5
# A limit that comes back bit by bit would wake the group at each bit.
SOONEST = 0.05
# So many that were freed, and are too small for some, are looked at again for each of those.
MOST_FREED = 32
# For so long a full group is not looked at wholly while nothing tells that anything of it is free.
REST_SECONDS, REST_SECONDS_EACH = 1.0, 2e-4
# How long a snapshot is good at most while little is left; longer where there are many candidates.
LOW_SECONDS, LOW_SECONDS_EACH = 0.5, 1e-4


class CandidateSet:
    """Candidates. All times are the same clock's, in seconds."""

    __slots__ = (
        "_by_priority",
        "blocked_tokens",
        "blocked_until",
        "blocker",
        "deployments",
        "dirty",
        "fair_share",
        "freed_positions",
        "is_low",
        "is_refreshing",
        "is_retired",
        "median_latency",
        "name",
        "positions_by_account",
        "refreshed_at",
        "snapshot",
        "strategy",
    )

    def __init__(self, name: str, deployments: Sequence[DeploymentState], strategy: Strategy, now: float) -> None:
        self.name, self.deployments, self.strategy = name, tuple(deployments), strategy
        self.dirty: set[int] = set()
        """Candidates of which something has changed since the snapshot."""
        self.is_refreshing = False
        self.is_low = False
        """Whether so little is left that it is looked at more often."""
        self.is_retired = False
        """Whether it is a set of candidates no more, so that it hears of nothing."""
        self.median_latency: float | None = None
        """Of those that have answered lately, when all were looked at last."""
        self.refreshed_at = -math.inf
        self.blocker: Blocker | None = None
        """What stands before the candidate that opens first, when all were found shut."""
        self.blocked_until = -math.inf
        self.blocked_tokens = 0.0
        self.freed_positions: set[int] = set()
        """Candidates at which something has happened since then, and that were not found shut again."""
        self.fair_share = FairShare()
        self.positions_by_account: dict[str, list[int]] = {}
        self._by_priority: dict[int, list[int]] = {}
        for position, deployment in enumerate(self.deployments):
            self.positions_by_account.setdefault(deployment.spec.account, []).append(position)
            self._by_priority.setdefault(deployment.spec.priority, []).append(position)
        self.snapshot = Snapshot(-math.inf, (), (), (), -math.inf)
        for _ in self.rebuild_steps(now):
            pass

    def twin(self, random: Callable[[], float]) -> CandidateSet:
        """Return one of the same state, to try things with: nothing that is done to it is done to this one."""
        found = copy(self)
        found.deployments = tuple([deployment.twin() for deployment in self.deployments])
        found.strategy = self.strategy.twin(random)
        found.dirty, found.freed_positions, found.fair_share = set(self.dirty), set(self.freed_positions), FairShare()
        return found

    def rebuild_steps(self, now: float) -> Iterator[None]:
        """Look at all candidates anew; yields at times, so that others can have the thread."""
        weights, opens, stock = [], [], RemainingCapacity()
        self.dirty.clear()
        for position, deployment in enumerate(self.deployments):
            if position and position % SLICE == 0:
                yield
            weight, opening = self.measure(deployment, now)
            weights.append(weight)
            opens.append(opening)
            if not deployment.is_cooling_down(now):
                stock.add(*deployment.remaining_requests(TYPICAL_USAGE, now))
        known = [each for deployment in self.deployments if (each := deployment.latency.recent(now)) is not None]
        self.median_latency = median_low(known) if known else None
        self._replace(Snapshot.build(now, weights, opens, self._by_priority), now)
        self.is_low = stock.share(self.fair_share, now)

    def refresh_dirty(self, now: float) -> None:
        """Look at those candidates anew of which something has changed, or should have by now."""
        snapshot = self.snapshot
        if now >= snapshot.next_reopening:
            self.dirty.update(position for position, opening in enumerate(snapshot.reopens_at) if opening <= now)
        changed = {position: self.measure(self.deployments[position], now) for position in self.dirty}
        self.dirty.clear()
        if changed:
            self._replace(snapshot.patched(changed, self._by_priority), now)

    def measure(self, deployment: DeploymentState, now: float) -> tuple[float, float]:
        """Return a candidate's weight in draws, and when it may open if it is shut."""
        blocker = deployment.shared_blocker(TYPICAL_USAGE, now)
        if blocker is not None:
            return 0.0, max(blocker.until, now + SOONEST)
        return self.strategy.weight(deployment, now), math.inf

    def snapshot_ttl(self, ttl: float) -> float:
        """Return for how long the snapshot is good: where little is left, it is looked at more often."""
        return min(ttl, max(LOW_SECONDS, len(self.deployments) * LOW_SECONDS_EACH)) if self.is_low else ttl

    def has_changed(self, position: int, now: float) -> bool:
        """Return whether a candidate differs so much from the snapshot that it should be replaced."""
        weight, _ = self.measure(self.deployments[position], now)
        known = self.snapshot.weights[position]
        return not known / CHANGED <= weight <= known * CHANGED

    def note_blocked(self, position: int, usage: Usage, now: float) -> None:
        """Know that a candidate is shut that may be open in the snapshot; it stays so if others may still use it."""
        if (
            self.snapshot.weights[position] > 0
            and self.deployments[position].shared_blocker(TYPICAL_USAGE, now) is not None
        ):
            self.dirty.add(position)
        if usage.tokens <= self.blocked_tokens:
            self.freed_positions.discard(position)
        self.blocked_until = min(self.blocked_until, self.deployments[position].blocked_until)

    def note_saturated(self, blockers: Sequence[Blocker], usage: Usage, now: float) -> Blocker:
        """Know that all were found shut for such a request; return what stands before the one that opens first.

        What may open at any moment is told of when it does. It is looked at beside, but not as often as there are such
        candidates, each of which was found shut at another moment.
        """
        first = min(blockers, key=_until)
        timed = min((blocker.until for blocker in blockers if not blocker.may_open), default=math.inf)
        rests = min(len(self.deployments) * REST_SECONDS_EACH, REST_SECONDS)
        self.blocker, self.blocked_tokens, self.blocked_until = (
            first,
            usage.tokens,
            min(timed, max(first.until, now + rests)),
        )
        self.freed_positions.clear()
        return first

    def freed_by_priority(self) -> list[int]:
        """Return the candidates that were freed, those of the first tier first."""
        if len(self._by_priority) == 1:
            return sorted(self.freed_positions)
        return sorted(self.freed_positions, key=lambda position: (self.deployments[position].spec.priority, position))

    def note_still_saturated(self, usage: Usage) -> None:
        """Know that what was freed is not enough for such a request; it may be for a smaller one, which looks there."""
        if len(self.freed_positions) > MOST_FREED:
            # Who needs less looks at all of them again, once.
            self.blocked_tokens = usage.tokens
            self.freed_positions.clear()

    def retire(self) -> None:
        """Mark it as replaced: requests look their candidates up again."""
        self.is_retired = True

    def _replace(self, snapshot: Snapshot, now: float) -> None:
        self.snapshot, self.refreshed_at = snapshot, now
        self.strategy.on_snapshot(snapshot, self.deployments)


def _until(blocker: Blocker) -> float:
    return blocker.until
