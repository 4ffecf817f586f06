"""Making snapshots off the path of requests: one at a time for each group, in slices that leave others the thread."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet

# Patching a group of this many candidates takes about as many seconds; ten times that is left to others in between.
SECONDS_A_CANDIDATE = 2e-7
REST = 10


class SnapshotRefresher:
    """What a pool asks for newer snapshots, in one event loop."""

    def __init__(self, clock: Callable[[], float], rebuilt: Callable[[float], None] | None = None) -> None:
        self._clock = clock
        self._rebuilt = rebuilt or (lambda _: None)
        self._pool: AccountPool | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def attach(self, pool: AccountPool) -> None:
        """Work for this pool, which can only be made when this is there."""
        self._pool = pool

    def __call__(self, candidates: CandidateSet) -> None:
        """See to it that a group's snapshot is made anew soon."""
        if candidates.is_refreshing:
            return
        candidates.is_refreshing = True
        loop = asyncio.get_running_loop()
        rest = candidates.refreshed_at + len(candidates.deployments) * SECONDS_A_CANDIDATE * REST - self._clock()
        if rest > 0:
            loop.call_later(rest, self._refresh, candidates)
        else:
            loop.call_soon(self._refresh, candidates)

    def _refresh(self, candidates: CandidateSet) -> None:
        assert self._pool is not None
        now = self._clock()
        if now < candidates.snapshot.taken + candidates.snapshot_ttl(self._pool.settings.snapshot_ttl):
            began = time.perf_counter()
            try:
                candidates.refresh_dirty(now)
            finally:
                candidates.is_refreshing = False
            self._rebuilt(time.perf_counter() - began)
            return
        task = asyncio.get_running_loop().create_task(self._rebuild(candidates, now))
        # A loop holds its tasks weakly.
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
        self._rebuilt(busy + time.perf_counter() - began)
