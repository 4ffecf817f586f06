"""Replication of pins between workers, for use in requests: bounded waits, and no errors.

Reads wait for `fetch_timeout` at most, and are skipped while the store does not answer. Writes happen in the
background, where the newest change of a session replaces older ones. Probes of the store run in the background too: no
request waits for a store of which the last call failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from litellm_evenkeel.support.circuit_breaker import CircuitBreaker
from litellm_evenkeel.support.timeouts import run_with_timeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.affinity.session_store import SessionStore
    from litellm_evenkeel.rotation.affinity.session_table import PinChange
    from litellm_evenkeel.rotation.settings import AffinitySettings


# For background operations, which no request waits for.
OPERATION_TIMEOUT_SECONDS = 3.0
CLOSE_TIMEOUT_SECONDS = 1.0
FAILURE_THRESHOLD = 3
# No session has this key, as session keys are longer.
PROBE_KEY = "probe"


@dataclass(slots=True)
class ReplicatorCounts:
    """Counters of one worker's replication, since its start."""

    fetched: int = 0
    """Fetches that called the store."""
    fetch_hits: int = 0
    """Fetches that returned a pin."""
    failed: int = 0
    """Fetches without a result because the store was too slow or failed."""
    skipped: int = 0
    """Fetches that were skipped because the circuit breaker was open."""
    written: int = 0
    write_failures: int = 0
    """Writes that failed. They are not repeated: a pin in use is written again later."""
    dropped: int = 0
    """Changes that were not queued, because the queue was full or closed."""
    last_error: str = ""
    """Class name of the last error; empty if there was none."""


class SessionReplicator:
    """Exchange of one worker's pins with the store. All methods must be called with an event loop running."""

    def __init__(
        self,
        store: SessionStore,
        settings: AffinitySettings,
        adopt: Callable[[str, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._store, self._settings, self._adopt, self._clock = store, settings, adopt, clock
        # The store is probed before the first request may wait for it.
        self._breaker = CircuitBreaker(random.random, failure_threshold=FAILURE_THRESHOLD, starts_open=True)
        self._queue: OrderedDict[str, PinChange] = OrderedDict()
        self._drops: OrderedDict[str, None] = OrderedDict()
        self._wake = asyncio.Event()
        self._background_task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.counts = ReplicatorCounts()

    @property
    def is_available(self) -> bool:
        """Whether the store is used: its circuit breaker is closed."""
        return not self._breaker.is_open

    @property
    def queued(self) -> int:
        """Number of changes that wait to be written."""
        return len(self._queue) + len(self._drops)

    async def fetch(self, key: str) -> str | None:
        """Return the account that another worker pinned a session to; `None` if unknown within `fetch_timeout`.

        While this waits, another request may pin the session in this worker, so check again before picking.
        """
        self._start()
        if self._breaker.is_open or self._is_closed:
            self.counts.skipped += 1
            return None
        self.counts.fetched += 1
        try:
            account = await run_with_timeout(self._store.get(key), self._settings.fetch_timeout)
        except Exception as error:  # noqa: BLE001 - drivers raise many classes; pins are optional
            self.counts.failed += 1
            self._record_failure(error)
            return None
        self._breaker.record_success(self._clock())
        self.counts.fetch_hits += account is not None
        return account

    def put(self, change: PinChange) -> None:
        """Queue a pin for writing to the store."""
        if self._is_closed or (len(self._queue) >= self._settings.max_pending_writes and change.key not in self._queue):
            self.counts.dropped += 1
            return
        queued = self._queue.get(change.key)
        if queued and queued.replaces and queued.account == change.account:
            return
        self._queue[change.key] = change
        self._start()

    def forget_account(self, account: str) -> None:
        """Queue the removal of all pins of an account from the store."""
        for key in [key for key, change in self._queue.items() if change.account == account]:
            del self._queue[key]
        self._drops[account] = None
        self._start()

    async def close(self) -> None:
        """Write queued changes, for `CLOSE_TIMEOUT_SECONDS` at most, and close the store."""
        self._is_closed = True
        if self._background_task:
            self._background_task.cancel()
            await asyncio.wait([self._background_task])
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                while self.queued and self.is_available:
                    await self._write()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._store.close()

    def _start(self) -> None:
        self._wake.set()
        if self._background_task is None and not self._is_closed:
            self._background_task = asyncio.get_running_loop().create_task(self._run(), name="evenkeel: pins")

    async def _run(self) -> None:
        while True:
            if self._breaker.is_open:
                await self._probe()
            elif self.queued:
                await self._write()
            else:
                self._wake.clear()
                await self._wake.wait()

    async def _probe(self) -> None:
        await asyncio.sleep(max(self._breaker.retry_at - self._clock(), 0.0))
        try:
            async with asyncio.timeout(OPERATION_TIMEOUT_SECONDS):
                await self._store.get(PROBE_KEY)
        except Exception as error:  # noqa: BLE001 - drivers raise many classes; pins are optional
            self._record_failure(error)
        else:
            self._breaker.record_success(self._clock())

    async def _write(self) -> None:
        """Write one queued change. It is not retried, as an impossible write would be retried for ever."""
        try:
            async with asyncio.timeout(OPERATION_TIMEOUT_SECONDS):
                await self._write_next()
        except Exception as error:  # noqa: BLE001 - drivers raise many classes; pins are optional
            self.counts.write_failures += 1
            self._record_failure(error)
        else:
            self._breaker.record_success(self._clock())
            self.counts.written += 1

    async def _write_next(self) -> None:
        if self._drops:
            account, _ = self._drops.popitem(last=False)
            await self._store.drop_account(account)
            return
        key, change = self._queue.popitem(last=False)
        pinned = await self._store.put(key, change.account, self._settings.ttl, only_if_absent=not change.replaces)
        # Unless this worker has changed the pin again since.
        if pinned != change.account and key not in self._queue:
            self._adopt(key, pinned)

    def _record_failure(self, error: BaseException) -> None:
        self.counts.last_error = type(error).__name__
        self._breaker.record_failure(self._clock())
        # The background task may wait for changes; now it has to probe the store.
        self._wake.set()
