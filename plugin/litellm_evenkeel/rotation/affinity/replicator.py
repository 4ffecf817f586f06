"""Pins that workers share, as a request may use them: it waits a little at most, and never fails for them.

Reading waits for `fetch_timeout` and not at all while the server does not answer; writing goes on in the background,
where the newest word on a session replaces older ones. A server is probed in the background too: no request waits for
one of which it is not known that it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.affinity.circuit_breaker import ProbedCircuitBreaker
from litellm_evenkeel.rotation.affinity.postgres_store import PostgresSessionStore
from litellm_evenkeel.rotation.affinity.redis_store import RedisSessionStore
from litellm_evenkeel.rotation.settings import SessionBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.rotation.affinity.session_store import SessionStore
    from litellm_evenkeel.rotation.affinity.session_table import PinChange
    from litellm_evenkeel.rotation.settings import AffinitySettings


def open_replicator(
    settings: AffinitySettings, clock: Callable[[], float], prefix: str = "evenkeel"
) -> SessionStore | None:
    """Return what keeps the pins; None if each worker keeps its own. No server is asked yet."""
    if settings.backend is SessionBackend.MEMORY:
        return None
    if not settings.url:
        raise SettingsError(
            f"sticky.url: pins in {settings.backend} need the address of one. Or write backend: memory."
        )
    opening: dict[SessionBackend, Callable[[str], SessionStore]] = {
        SessionBackend.REDIS: lambda url: RedisSessionStore(Redis.from_url(url), prefix),
        SessionBackend.POSTGRES: lambda url: PostgresSessionStore(url, clock),
    }
    return opening[settings.backend](settings.url)


# Nobody waits for these.
PATIENCE_SECONDS = 3.0
LAST_WORDS_SECONDS = 1.0
# Nobody's key: hashes are longer.
PROBE = "probe"


@dataclass(frozen=True, slots=True)
class ReplicatorCounts:
    """How it went with the server so far."""

    is_available: bool
    """Whether it may be asked now."""
    fetched: int
    fetch_hits: int
    failed: int
    """Requests that were told of no pin because the server was too slow or failed."""
    skipped: int
    """Requests that were told of no pin because the server is known not to answer."""
    written: int
    write_failures: int
    """Writes that went wrong and were given up: while a pin is in use, it is written again by and by."""
    dropped: int
    """Writes that were given up because too many waited."""
    queued: int
    last_error: str
    """What kind of error came last; empty if none ever did."""


class SessionReplicator:
    """Lets one worker share its pins. Its methods are called where an event loop runs."""

    def __init__(
        self,
        pins: SessionStore,
        settings: AffinitySettings,
        adopt: Callable[[str, str], None],
        clock: Callable[[], float],
    ) -> None:
        self._pins, self._settings, self._adopt, self._clock = pins, settings, adopt, clock
        self._breaker = ProbedCircuitBreaker()
        self._queue: OrderedDict[str, PinChange] = OrderedDict()
        self._drops: OrderedDict[str, None] = OrderedDict()
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False
        self._fetched = self._found = self._failed = self._skipped = 0
        self._written = self._write_failures = self._dropped = 0
        self._trouble = ""

    async def fetch(self, key: str) -> str | None:
        """Return the account that others have pinned a session to, as far as that can be learned in time.

        Meanwhile another request may have pinned it here: look again before choosing.
        """
        self._start()
        if self._breaker.is_open or self._is_closed:
            self._skipped += 1
            return None
        self._fetched += 1
        # A task of its own, for drivers that take their time to be cancelled.
        asking = asyncio.ensure_future(self._pins.get(key))
        try:
            await asyncio.wait((asking,), timeout=self._settings.fetch_timeout)
        finally:
            if not asking.done():
                asking.cancel()
                asking.add_done_callback(_forgotten)
        error = _error_of(asking)
        if error:
            self._failed += 1
            self._record_failure(error)
            return None
        self._breaker.record_success()
        found = asking.result()
        self._found += found is not None
        return found

    def put(self, change: PinChange) -> None:
        """Let others know of a pin, some time soon."""
        if self._is_closed or (len(self._queue) >= self._settings.most_queued and change.key not in self._queue):
            self._dropped += 1
            return
        waiting = self._queue.get(change.key)
        if waiting and waiting.replaces and waiting.account == change.account:
            return
        self._queue[change.key] = change
        self._start()

    def forget_account(self, account: str) -> None:
        """Let all forget the pins of an account, some time soon."""
        for key in [key for key, change in self._queue.items() if change.account == account]:
            del self._queue[key]
        self._drops[account] = None
        self._start()

    def counts(self) -> ReplicatorCounts:
        """Return how it went so far."""
        return ReplicatorCounts(
            is_available=not self._breaker.is_open,
            fetched=self._fetched,
            fetch_hits=self._found,
            failed=self._failed,
            skipped=self._skipped,
            written=self._written,
            write_failures=self._write_failures,
            dropped=self._dropped,
            queued=len(self._queue) + len(self._drops),
            last_error=self._trouble,
        )

    async def close(self) -> None:
        """Write what waits, if that is soon done, and let go of the server."""
        self._is_closed = True
        if self._worker:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        with contextlib.suppress(Exception):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                while (self._queue or self._drops) and not self._breaker.is_open:
                    await self._write()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self._pins.close()

    def _start(self) -> None:
        self._wake.set()
        if self._worker is None and not self._is_closed:
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="evenkeel: pins")

    async def _work(self) -> None:
        while True:
            if self._breaker.is_open:
                await self._probe()
            elif self._queue or self._drops:
                await self._write()
            else:
                self._wake.clear()
                await self._wake.wait()

    async def _probe(self) -> None:
        await asyncio.sleep(max(self._breaker.probe_at - self._clock(), 0.0))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._pins.get(PROBE)
        except Exception as error:  # noqa: BLE001 - as above
            self._trouble = type(error).__name__
            self._breaker.record_probe(self._clock(), has_answered=False)
        else:
            self._breaker.record_probe(self._clock(), has_answered=True)

    async def _write(self) -> None:
        """Write one thing that waits. It is not tried twice: something that cannot be written would never end."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await (self._write_drop() if self._drops else self._write_pin())
        except Exception as error:  # noqa: BLE001 - as above
            self._write_failures += 1
            self._record_failure(error)
        else:
            self._breaker.record_success()
            self._written += 1

    async def _write_drop(self) -> None:
        account, _ = self._drops.popitem(last=False)
        await self._pins.drop_account(account)

    async def _write_pin(self) -> None:
        key, change = self._queue.popitem(last=False)
        held = await self._pins.put(key, change.account, self._settings.ttl, only_if_absent=not change.replaces)
        # Unless there is a newer word on it by now.
        if held != change.account and key not in self._queue:
            self._adopt(key, held)

    def _record_failure(self, error: BaseException) -> None:
        self._trouble = type(error).__name__
        self._breaker.record_failure(self._clock())
        # Who waits for something to write has a server to probe instead.
        self._wake.set()


def _error_of(asking: asyncio.Future[str | None]) -> BaseException | None:
    if not asking.done():
        return TimeoutError()
    return asyncio.CancelledError() if asking.cancelled() else asking.exception()


def _forgotten(asking: asyncio.Future[str | None]) -> None:
    """Look at how it ended, so that asyncio does not complain that nobody has."""
    if not asking.cancelled():
        asking.exception()
