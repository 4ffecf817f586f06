"""One set of candidates for one model: their places in order, the snapshot selection reads, and a strategy's memory."""

from __future__ import annotations

import math
from statistics import median_low
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.request import TYPICAL_USAGE, Usage
from litellm_evenkeel.rotation.selection.saturation import Saturation
from litellm_evenkeel.rotation.selection.snapshot import Snapshot
from litellm_evenkeel.rotation.state.fair_share import FairShare, RemainingCapacity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.selection.strategies import Strategy
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# After so many candidates, a rebuild lets others have the thread.
SLICE = 256
# A candidate's weight has changed if it is this many times what it was, or less than one in so many.
CHANGED = 1.5
# A limit that comes back bit by bit would wake the group at each bit.
SOONEST = 0.05
# How long a snapshot is good at most while little is left; longer where there are many candidates.
LOW_SECONDS, LOW_SECONDS_EACH = 0.5, 1e-4


class CandidateSet:
    """Candidates. All times are the same clock's, in seconds."""

    __slots__ = (
        "_by_priority",
        "deployments",
        "dirty",
        "fair_share",
        "is_low",
        "is_refreshing",
        "is_retired",
        "median_latency",
        "name",
        "positions_by_account",
        "refreshed_at",
        "saturation",
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
        self.saturation = Saturation()
        self.fair_share = FairShare()
        self.positions_by_account: dict[str, list[int]] = {}
        self._by_priority: dict[int, list[int]] = {}
        for position, deployment in enumerate(self.deployments):
            self.positions_by_account.setdefault(deployment.spec.account, []).append(position)
            self._by_priority.setdefault(deployment.spec.priority, []).append(position)
        self.snapshot = Snapshot(-math.inf, (), (), (), -math.inf)
        for _ in self.rebuild_steps(now):
            pass

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
        blocker = deployment.total_blocker(TYPICAL_USAGE, now)
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

    def note_blocked(self, position: int, blocker: Blocker, usage: Usage, now: float) -> None:
        """Record that a candidate is blocked for a request. It stays in the snapshot if other workers may use it."""
        is_in_snapshot = self.snapshot.weights[position] > 0
        if is_in_snapshot and self.deployments[position].total_blocker(TYPICAL_USAGE, now) is not None:
            self.dirty.add(position)
        self.saturation.note_blocked(position, blocker, usage)

    def deployments_at(self, account: str) -> list[DeploymentState]:
        """Return the candidates at an account."""
        return [self.deployments[position] for position in self.positions_by_account.get(account, ())]

    def freed_by_priority(self) -> list[int]:
        """Return the candidates that were freed, those of the first tier first."""
        freed = self.saturation.freed
        if len(self._by_priority) == 1:
            return sorted(freed)
        return sorted(freed, key=lambda position: (self.deployments[position].spec.priority, position))

    def retire(self) -> None:
        """Mark it as replaced: requests look their candidates up again."""
        self.is_retired = True

    def _replace(self, snapshot: Snapshot, now: float) -> None:
        self.snapshot, self.refreshed_at = snapshot, now
        self.strategy.on_snapshot(snapshot, self.deployments)
