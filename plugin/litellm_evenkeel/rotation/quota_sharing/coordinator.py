"""Coordinator of one worker: renews all leases in joint exchanges, and switches to local shares during outages."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
from collections import Counter
from typing import TYPE_CHECKING

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.rotation.quota_sharing.account_leases import AccountLeases
from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownBus
from litellm_evenkeel.rotation.quota_sharing.leased_concurrency import LeasedConcurrency
from litellm_evenkeel.rotation.quota_sharing.protocol import ClockOffset, LeaseRequest, SharingCounts, SharingMode
from litellm_evenkeel.rotation.quota_sharing.redis_store import RedisLeaseStore
from litellm_evenkeel.support.log_throttle import LogThrottle
from litellm_evenkeel.support.timeouts import run_with_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from litellm_evenkeel.rotation.model.limits import RateLimit
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownChannel
    from litellm_evenkeel.rotation.quota_sharing.protocol import LeaseResponse, LeaseStore, ScopeRequest
    from litellm_evenkeel.rotation.settings import CoordinatorSettings
    from litellm_evenkeel.rotation.state.account_scope import AccountScope, ScopeKey
    from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate
    from litellm_evenkeel.rotation.state.quota_window import QuotaWindow

LOG = logging.getLogger("litellm_evenkeel.rotation")

# Bounds the time of one call of the script, during which Redis serves no other client.
SCOPES_PER_EXCHANGE = 64
# Beyond this many urgent scopes, those without a recent lease wait: a request needs only one account of many.
MAX_URGENT_SCOPES = 4
# These may take longer than `timeout`, as no request waits for them.
CONNECT_SECONDS, CLOSE_SECONDS = 2.0, 0.5
# All workers have to be back before the grace period of the store ends.
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 0.5
WARNING_INTERVAL_SECONDS = 60.0
GRACE_SECONDS = 0.02
# Local mode ends this many ticks before the store grants again, so that all usage is reported by then.
QUIET_TICKS = 2.0
# A worker with a heartbeat within this many intervals counts as connected.
FRESH_HEARTBEATS = 4.0


class QuotaCoordinator:
    """Sharing of one worker. Build a pool with its `broadcast`, `make_window` and `share_slots`, then `start` it."""

    def __init__(
        self,
        store: LeaseStore,
        channel: CooldownChannel,
        settings: CoordinatorSettings,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._worker = secrets.token_hex(8)
        self._cooldown_bus = CooldownBus(channel, self._worker, clock)
        self._pool: AccountPool | None = None
        self._leases: dict[ScopeKey, AccountLeases] = {}
        self._active: dict[AccountLeases, None] = {}
        self._urgent: dict[AccountLeases, None] = {}
        self._due: dict[AccountLeases, None] = {}
        self._blocked: dict[AccountLeases, None] = {}
        self._wake, self._connected = asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.mode = SharingMode(is_local=True, workers=settings.workers)
        self.clock_offset: ClockOffset | None = None
        self.is_connected = False
        self._grants_at = 0.0
        self.workers = settings.workers
        self._retry_pause = 0.0
        self._tick_at = self._heartbeat_at = self._answered_at = -math.inf
        self._outages = self._exchanges = 0
        self._errors: Counter[str] = Counter()
        self._throttle = LogThrottle(WARNING_INTERVAL_SECONDS)

    def broadcast(self, update: CooldownUpdate) -> None:
        """Send a cooldown update to the other workers."""
        self._cooldown_bus.enqueue(update)
        self._wake.set()

    def make_window(self, key: ScopeKey, limit: RateLimit) -> QuotaWindow:
        """Return a leased window for `limit`."""
        return self._leases_of(key).add_window(limit)

    def share_slots(self, scope: AccountScope) -> None:
        """Lease the in-flight slots of `scope`, whose concurrency is limited."""
        leases = self._leases_of(scope.scope_key)
        if leases.slots is None or leases.slots.scope is not scope or scope.leased_slots is None:
            leases.slots = LeasedConcurrency(scope, self)

        def on_exhausted() -> None:
            if leases.slots:
                leases.slots.on_exhausted()
                self.request_now(leases)

        scope.on_slots_exhausted = on_exhausted

    def request_now(self, leases: AccountLeases) -> bool:
        """Request a lease at once, because a request waits for it. Return whether it will be requested."""
        self._blocked[leases] = None
        if self.mode.is_local:
            return True
        if len(self._urgent) >= MAX_URGENT_SCOPES and leases not in self._active:
            return False
        self._active[leases] = self._urgent[leases] = None
        self._wake.set()
        return True

    def request_soon(self, leases: AccountLeases) -> None:
        """Request a lease with the next tick."""
        if not self._due:
            # The loop may be sleeping until the next heartbeat.
            self._wake.set()
        self._active[leases] = self._due[leases] = None

    async def start(self, pool: AccountPool, wait_seconds: float = 1.0) -> None:
        """Begin to share. Wait up to `wait_seconds` for the store, which is tried again in the background."""
        self._pool = pool
        for name, work in (("shared state", self._run()), ("cooldowns", self._cooldown_bus.listen(pool))):
            self._tasks.append(asyncio.get_running_loop().create_task(work, name=f"evenkeel: {name}"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                await self._connected.wait()

    async def stop(self) -> None:
        """Return all leases, if the store answers soon, and close the connections."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks.clear()
        with contextlib.suppress(Exception):
            if self.is_connected:
                now = self._clock()
                requests = [(leases, request) for leases in self._active if (request := leases.return_all(now))]
                await run_with_timeout(self._exchange(requests, leaves=True), CLOSE_SECONDS)
        self.is_connected = False
        with contextlib.suppress(Exception):
            await run_with_timeout(self._store.close(), CLOSE_SECONDS)

    def counts(self) -> SharingCounts:
        """Return the state and the counters."""
        return SharingCounts(
            is_connected=self.is_connected,
            is_local=self.mode.is_local,
            age=self._clock() - self._answered_at,
            workers=self.workers,
            outages=self._outages,
            errors=dict(self._errors),
            exchanges=self._exchanges,
            published=self._cooldown_bus.published,
            received=self._cooldown_bus.received,
            damaged=self._cooldown_bus.damaged,
            is_listening=self._cooldown_bus.is_listening,
        )

    async def _run(self) -> None:
        while True:
            try:
                await (self._run_once() if self.is_connected else self._connect())
            except Exception as error:  # noqa: BLE001 - no error may end the loop; local mode is safe
                await self._enter_local_mode(error)

    async def _connect(self) -> None:
        await asyncio.sleep(self._retry_pause)
        self._retry_pause = min(max(self._retry_pause * 2, MIN_RETRY_SECONDS), MAX_RETRY_SECONDS)
        if not await self._call_store(self._exchange([]), CONNECT_SECONDS):
            return
        self.is_connected, self._retry_pause = True, 0.0
        self._wake.set()
        self._connected.set()

    async def _run_once(self) -> None:
        """Wait until something is due, and send it."""
        now = self._clock()
        until = min(self._heartbeat_at, self._tick_at) if self._due else self._heartbeat_at
        if not self._wake.is_set() and until > now:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(until - now):
                    await self._wake.wait()
        self._wake.clear()
        if self._cooldown_bus.queued and not await self._call_store(
            self._cooldown_bus.publish(), self._settings.timeout
        ):
            return
        if self._cooldown_bus.queued:
            self._wake.set()
        for requests in self._build_requests(self._clock()):
            if not await self._call_store(self._exchange(requests), self._settings.timeout):
                return

    def _build_requests(self, now: float) -> Iterator[list[tuple[AccountLeases, ScopeRequest]]]:
        """Yield the requests that are due, in batches of one exchange each."""
        leases, self._urgent = self._urgent, {}
        confirms = now >= self._heartbeat_at
        if now >= self._tick_at:
            self._tick_at = now + self._settings.tick
            leases |= self._due
            self._due = {}
        if confirms:
            self._heartbeat_at = now + self._settings.heartbeat
            self._active = {account_leases: None for account_leases in self._active if not account_leases.is_idle}
            leases |= self._active
            self._remove_idle()
        if self.mode.is_local and now >= self.mode.until:
            self._close_slots()
        requests: list[tuple[AccountLeases, ScopeRequest]] = []
        has_heartbeat = False
        for account_leases in leases:
            request = account_leases.build_request(now, confirms=confirms)
            if account_leases.needs_renewal:
                self._due[account_leases] = None
            if request:
                requests.append((account_leases, request))
            if len(requests) == SCOPES_PER_EXCHANGE:
                yield requests
                requests, has_heartbeat = [], True
        # A heartbeat is due even without requests.
        if requests or (confirms and not has_heartbeat):
            yield requests

    async def _exchange(self, requests: list[tuple[AccountLeases, ScopeRequest]], *, leaves: bool = False) -> None:
        settings = self._settings
        exchange = LeaseRequest(
            worker=self._worker,
            epoch=self.mode.epoch,
            new_epoch=secrets.token_hex(8),
            gone_seconds=settings.gone,
            fresh_seconds=settings.heartbeat * FRESH_HEARTBEATS,
            grace_period=settings.settle,
            workers=self.mode.workers,
            rejoins=not self.is_connected and bool(self.mode.epoch),
            leaves=leaves,
            scopes=tuple(request for _, request in requests),
        )
        sent = self._clock()
        try:
            response = await self._store.exchange(exchange)
        except BaseException:
            for leases, _ in requests:
                leases.on_timeout()
            raise
        now = self._clock()
        self._exchanges += 1
        self._answered_at, self.workers = now, response.workers
        self.clock_offset = ClockOffset(response.now - now, response.now - sent)
        for (leases, request), grant in zip(requests, response.scopes, strict=False):
            if leases.apply_grant(request, grant, now, self.clock_offset):
                self._notify_capacity(leases)
        for leases, _ in requests[len(response.scopes) :]:
            leases.on_timeout()
        self._apply_response(response, self.clock_offset, now)

    def _apply_response(self, response: LeaseResponse, clock_offset: ClockOffset, now: float) -> None:
        """Follow the state of the store: its epoch, and whether its grace period runs."""
        is_settling = response.now < response.grants_at
        grants_at, old = is_settling and response.grants_at, self.mode
        if (is_settling, response.epoch, grants_at) == (old.is_local, old.epoch, self._grants_at):
            return
        self._grants_at = grants_at
        quiet_seconds = QUIET_TICKS * self._settings.tick
        until = response.grants_at - clock_offset.high - quiet_seconds if is_settling else math.inf
        workers = max(response.workers, old.workers if is_settling else 1)
        self.mode = SharingMode(is_local=is_settling, workers=workers, epoch=response.epoch, until=until)
        if old.epoch and response.epoch != old.epoch:
            self._report_to_new_store(now)
        if is_settling and not old.is_local:
            self._use_local_slots()
        elif not is_settling:
            self._close_slots()
        self._notify_all_capacity()

    def _report_to_new_store(self, now: float) -> None:
        """Send all usage and cooldowns to a store that has lost its data."""
        for leases in self._leases.values():
            for window in leases.windows.values():
                window.on_mode_change(now)
            if not leases.is_idle:
                self._active[leases] = None
        for scope in self._pool.scopes.values() if self._pool else ():
            if scope.cooldown.kind is not None and scope.cooldown.until > now:
                self._cooldown_bus.enqueue(scope.cooldown_update())

    async def _call_store(self, call: Coroutine[object, object, None], seconds: float) -> bool:
        try:
            await run_with_timeout(call, seconds, grace=GRACE_SECONDS)
        except Exception as error:  # noqa: BLE001 - no error of a driver or server may stop requests
            self._errors[type(error).__name__] += 1
            await self._enter_local_mode(error)
            return False
        return True

    async def _enter_local_mode(self, error: Exception) -> None:
        """Switch to local shares until the store is back."""
        if self.is_connected:
            self.is_connected, self._retry_pause = False, MIN_RETRY_SECONDS
            self._outages += 1
            self.mode = SharingMode(is_local=True, workers=self.workers, epoch=self.mode.epoch)
            # The next answer changes the mode, also if the store is in the same grace period then.
            self._grants_at = math.nan
            self._use_local_slots()
            self._notify_all_capacity()
        if self._throttle.allows(self._clock()):
            # The text of the error may contain an address.
            LOG.warning(
                "evenkeel: Redis for shared limits is unavailable (%s). Each of %d workers uses 1/%d of every limit"
                " until it is back. See `rotation.shared`.",
                type(error).__name__,
                self.workers,
                self.workers,
            )
        with contextlib.suppress(Exception):
            await run_with_timeout(self._store.drop(), CLOSE_SECONDS)

    def _use_local_slots(self) -> None:
        for leases in self._leases.values():
            if leases.slots:
                leases.slots.use_local_share()

    def _close_slots(self) -> None:
        for leases in self._leases.values():
            if leases.slots:
                leases.slots.close()

    def _notify_all_capacity(self) -> None:
        for leases in list(self._blocked):
            self._notify_capacity(leases)

    def _notify_capacity(self, leases: AccountLeases) -> None:
        self._blocked.pop(leases, None)
        scope = self._pool.scopes.get(leases.scope_key) if self._pool else None
        if self._pool and scope:
            self._pool.capacity_freed(scope)

    def _remove_idle(self) -> None:
        """Remove the leases of scopes that the pool no longer has."""
        if self._pool is None or len(self._leases) <= len(self._pool.scopes):
            return
        for key, leases in list(self._leases.items()):
            if key not in self._pool.scopes and leases.is_idle:
                del self._leases[key]
                self._blocked.pop(leases, None)
                self._due.pop(leases, None)

    def _leases_of(self, key: ScopeKey) -> AccountLeases:
        leases = self._leases.get(key)
        if leases is None:
            leases = self._leases[key] = AccountLeases(key, self)
        return leases


def open_coordinator(settings: CoordinatorSettings, clock: Callable[[], float]) -> QuotaCoordinator:
    """Return the coordinator of one worker. It connects when it is started."""
    if not settings.url:
        raise SettingsError(
            "shared.url: expected the address of a Redis, got none. Hint: write it as redis://host:6379/0."
        )
    store = RedisLeaseStore(settings.url, settings.prefix, settings.timeout)
    return QuotaCoordinator(store, store, settings, clock=clock)
