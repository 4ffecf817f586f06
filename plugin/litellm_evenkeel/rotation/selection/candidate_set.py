"""Candidate set: the deployments that may serve a request, their snapshot, and the state of their strategy."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field
from statistics import median_low
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.model.request import TYPICAL_USAGE, Usage
from litellm_evenkeel.rotation.selection.saturation import Saturation
from litellm_evenkeel.rotation.selection.snapshot import Snapshot
from litellm_evenkeel.rotation.state.fair_share import FairShare, RemainingCapacity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.selection.strategies import Strategy
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

# A rebuild yields to other tasks after this many candidates.
REBUILD_SLICE = 256
# A weight counts as changed if it is more than this many times larger or smaller than in the snapshot.
CHANGE_FACTOR = 1.5
# A blocked candidate is measured again after this time at the earliest: otherwise a limit that is released in small
# parts would cause a refresh at each part.
MIN_REOPENING_SECONDS = 0.05
# Maximum age of a snapshot while capacity is low; more if there are many candidates.
LOW_TTL_SECONDS, LOW_TTL_SECONDS_PER_CANDIDATE = 0.5, 1e-4


@dataclass(slots=True, eq=False, repr=False)
class CandidateSet:
    """The deployments that may serve a request. All times are by the pool's clock, in seconds."""

    name: str
    """The model group, or the model that a request names."""
    deployments: tuple[DeploymentState, ...]
    strategy: Strategy
    now: InitVar[float]
    dirty: set[int] = field(default_factory=set)
    """Positions of candidates that have changed since the snapshot."""
    is_refreshing: bool = False
    is_low: bool = False
    """Whether capacity is low, so that the snapshot is rebuilt more often."""
    is_retired: bool = False
    """Whether the set has been replaced. It gets no more updates, and its requests look their candidates up again."""
    median_latency: float | None = None
    """Median latency of the candidates with a recent response, at the last rebuild; `None` without any."""
    refreshed_at: float = -math.inf
    saturation: Saturation = field(default_factory=Saturation)
    fair_share: FairShare = field(default_factory=FairShare)
    positions_by_account: dict[str, list[int]] = field(default_factory=dict)
    _by_priority: dict[int, list[int]] = field(default_factory=dict)
    snapshot: Snapshot = field(init=False)

    def __post_init__(self, now: float) -> None:
        """Build the first snapshot."""
        for position, deployment in enumerate(self.deployments):
            self.positions_by_account.setdefault(deployment.spec.account, []).append(position)
            self._by_priority.setdefault(deployment.spec.priority, []).append(position)
        self.rebuild(now)

    def rebuild(self, now: float) -> None:
        """Rebuild the snapshot without a pause."""
        for _ in self.rebuild_steps(now):
            pass

    def rebuild_steps(self, now: float) -> Iterator[None]:
        """Rebuild the snapshot from all candidates. Yields now and then, so that other tasks can run."""
        weights, reopens_at, capacity = [], [], RemainingCapacity()
        self.dirty.clear()
        for position, deployment in enumerate(self.deployments):
            if position and position % REBUILD_SLICE == 0:
                yield
            weight, reopening = self.measure(deployment, now)
            weights.append(weight)
            reopens_at.append(reopening)
            if deployment.traffic_share(now) > 0 and not deployment.is_paused(now):
                capacity.add(*deployment.remaining_requests(TYPICAL_USAGE, now))
        latencies = [
            latency for deployment in self.deployments if (latency := deployment.latency.recent(now)) is not None
        ]
        self.median_latency = median_low(latencies) if latencies else None
        self._replace(Snapshot.build(now, weights, reopens_at, self._by_priority), now)
        self.is_low = capacity.share(self.fair_share, now)

    def refresh_dirty(self, now: float) -> None:
        """Patch the snapshot: measure candidates that have changed, or whose blocker should be over, again."""
        snapshot = self.snapshot
        if now >= snapshot.next_reopening:
            self.dirty.update(position for position, reopening in enumerate(snapshot.reopens_at) if reopening <= now)
        changed = {position: self.measure(self.deployments[position], now) for position in self.dirty}
        self.dirty.clear()
        if changed:
            self._replace(snapshot.patched(changed, self._by_priority), now)

    def measure(self, deployment: DeploymentState, now: float) -> tuple[float, float]:
        """Return a candidate's weight, and the time at which it may be available again.

        The weight is 0 if it is blocked; the time is `inf` if it is not.
        """
        blocker = deployment.total_blocker(TYPICAL_USAGE, now)
        if blocker is not None:
            return 0.0, max(blocker.until, now + MIN_REOPENING_SECONDS)
        return self.strategy.weight(deployment, now), math.inf

    def snapshot_ttl(self, ttl: float) -> float:
        """Return the maximum age of the snapshot in seconds: `ttl`, or less while capacity is low."""
        low = max(LOW_TTL_SECONDS, len(self.deployments) * LOW_TTL_SECONDS_PER_CANDIDATE)
        return min(ttl, low) if self.is_low else ttl

    def has_changed(self, position: int, now: float) -> bool:
        """Return whether a candidate's weight differs from the snapshot by more than `CHANGE_FACTOR`."""
        weight, _ = self.measure(self.deployments[position], now)
        previous = self.snapshot.weights[position]
        return not previous / CHANGE_FACTOR <= weight <= previous * CHANGE_FACTOR

    def note_blocked(self, position: int, blocker: Blocker, usage: Usage, now: float) -> None:
        """Record that a candidate is blocked for a request. It stays in the snapshot if other workers may use it."""
        is_in_snapshot = self.snapshot.weights[position] > 0
        if is_in_snapshot and self.deployments[position].total_blocker(TYPICAL_USAGE, now) is not None:
            self.dirty.add(position)
        self.saturation.note_blocked(position, blocker, usage)

    def deployments_at(self, account: str) -> list[DeploymentState]:
        """Return the candidates that belong to an account."""
        return [self.deployments[position] for position in self.positions_by_account.get(account, ())]

    def has_available_besides(self, account: str) -> bool:
        """Return whether the snapshot has an available candidate at another account."""
        own = self.positions_by_account.get(account, ())
        return any(position not in own for level in self.snapshot.levels for position in level.positions)

    def freed_by_priority(self) -> list[int]:
        """Return the positions of candidates that were freed while the set was saturated, by priority."""
        freed = self.saturation.freed
        if len(self._by_priority) == 1:
            return sorted(freed)
        return sorted(freed, key=lambda position: (self.deployments[position].spec.priority, position))

    def _replace(self, snapshot: Snapshot, now: float) -> None:
        self.snapshot, self.refreshed_at = snapshot, now
        self.strategy.on_snapshot(snapshot)
