"""Rebuilds snapshots outside the path of requests: one at a time per candidate set, in slices that yield to others."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet

# Patching a snapshot takes about this long per candidate. Between two patches, other tasks get ten times that.
PATCH_SECONDS_PER_CANDIDATE = 2e-7
REST_FACTOR = 10


class SnapshotRefresher:
    """Refreshes the snapshots of one pool in one event loop. The pool calls it when a snapshot is too old."""

    def __init__(self, snapshot_ttl: float, clock: Callable[[], float], on_refresh: Callable[[float], None]) -> None:
        self.snapshot_ttl, self._clock, self._on_refresh = snapshot_ttl, clock, on_refresh
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, candidates: CandidateSet) -> None:
        """Schedule a refresh of a candidate set's snapshot, unless one is scheduled already."""
        if candidates.is_refreshing:
            return
        candidates.is_refreshing = True
        rest = len(candidates.deployments) * PATCH_SECONDS_PER_CANDIDATE * REST_FACTOR
        delay = candidates.refreshed_at + rest - self._clock()
        loop = asyncio.get_running_loop()
        if delay > 0:
            loop.call_later(delay, self._refresh, candidates)
        else:
            loop.call_soon(self._refresh, candidates)

    def _refresh(self, candidates: CandidateSet) -> None:
        now = self._clock()
        if now < candidates.snapshot.taken + candidates.snapshot_ttl(self.snapshot_ttl):
            began = time.perf_counter()
            try:
                candidates.refresh_dirty(now)
            finally:
                candidates.is_refreshing = False
            self._on_refresh(time.perf_counter() - began)
            return
        task = asyncio.get_running_loop().create_task(self._rebuild(candidates, now))
        # The event loop keeps only weak references to tasks: without this one, the task could be collected.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _rebuild(self, candidates: CandidateSet, now: float) -> None:
        busy = 0.0
        began = time.perf_counter()
        try:
            for _ in candidates.rebuild_steps(now):
                busy += time.perf_counter() - began
                await asyncio.sleep(0)
                began = time.perf_counter()
        finally:
            candidates.is_refreshing = False
        self._on_refresh(busy + time.perf_counter() - began)
