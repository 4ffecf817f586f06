"""Making snapshots off the path of requests: one at a time for each group, in slices that leave others the thread."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.pool import Pool

# Patching a group of this many candidates takes about as many seconds; ten times that is left to others in between.
SECONDS_A_CANDIDATE = 2e-7
REST = 10


class Refreshing:
    """What a pool asks for newer snapshots, in one event loop."""

    def __init__(self, clock: Callable[[], float], rebuilt: Callable[[float], None] | None = None) -> None:
        self._clock = clock
        self._rebuilt = rebuilt or (lambda _: None)
        self._pool: Pool | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, pool: Pool) -> None:
        """Work for this pool, which can only be made when this is there."""
        self._pool = pool

    def __call__(self, group: Group) -> None:
        """See to it that a group's snapshot is made anew soon."""
        if group.is_refreshing:
            return
        group.is_refreshing = True
        loop = asyncio.get_running_loop()
        rest = group.patched + len(group.places) * SECONDS_A_CANDIDATE * REST - self._clock()
        if rest > 0:
            loop.call_later(rest, self._refresh, group)
        else:
            loop.call_soon(self._refresh, group)

    def _refresh(self, group: Group) -> None:
        assert self._pool is not None
        now = self._clock()
        if now < group.snapshot.taken + group.lasts(self._pool.terms.snapshot_ttl):
            began = time.perf_counter()
            try:
                group.patch(now)
            finally:
                group.is_refreshing = False
            self._rebuilt(time.perf_counter() - began)
            return
        task = asyncio.get_running_loop().create_task(self._rebuild(group, now))
        # A loop holds its tasks weakly.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _rebuild(self, group: Group, now: float) -> None:
        busy = 0.0
        began = time.perf_counter()
        try:
            for _ in group.refreshing(now):
                busy += time.perf_counter() - began
                await asyncio.sleep(0)
                began = time.perf_counter()
        finally:
            group.is_refreshing = False
        self._rebuilt(busy + time.perf_counter() - began)
