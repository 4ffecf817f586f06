"""One worker's share in what all share: it asks for all its accounts at once, and goes on alone when nobody answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
from collections import Counter
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.quota_sharing.account_leases import AccountLeases
from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownBus
from litellm_evenkeel.rotation.quota_sharing.leased_concurrency import LeasedConcurrency
from litellm_evenkeel.rotation.quota_sharing.protocol import ClockOffset, LeaseRequest, SharingCounts, SharingMode
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

# So many sides are asked for in one call, so that the server has time for others.
AT_ONCE = 64
# Where so many are asked for already, others that nobody used lately are not asked for as well.
MOST_URGENT = 4
# No request waits for these.
JOIN_SECONDS, LAST_WORDS_SECONDS = 2.0, 0.5
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
WARNED_EACH_SECONDS = 60.0
# Before the store grants again, for so many ticks nobody uses anything alone, so that all is told by then.
QUIET_TICKS = 2.0
# Others that were heard of within so many heartbeats have the store.
FRESH_BEATS = 2.0


class QuotaCoordinator:
    """A pool takes `tell`, `window` and `slots` from here; then it is started with the pool."""

    def __init__(
        self,
        store: LeaseStore,
        channel: CooldownChannel,
        settings: CoordinatorSettings,
        *,
        clock: Callable[[], float],
        on_capacity: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._settings, self._clock, self._on_capacity = store, settings, clock, on_capacity
        self._worker = secrets.token_hex(8)
        self._cooldown_bus = CooldownBus(channel, self._worker, clock)
        self._pool: AccountPool | None = None
        self._leases: dict[ScopeKey, AccountLeases] = {}
        self._active: dict[AccountLeases, None] = {}
        self._urgent: dict[AccountLeases, None] = {}
        self._due: dict[AccountLeases, None] = {}
        self._barred: dict[AccountLeases, None] = {}
        self._wake, self._joined = asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.mode = SharingMode(is_local=True, workers=settings.workers)
        self.clock_offset: ClockOffset | None = None
        self.is_connected = False
        self._opens = 0.0
        self.workers = settings.workers
        self._pause = 0.0
        self._ticks_at = self._beats_at = self._answered_at = self._warned_at = -math.inf
        self._outages = self._exchanges = 0
        self._errors: Counter[str] = Counter()

    def broadcast(self, update: CooldownUpdate) -> None:
        """Let others know of a hold."""
        self._cooldown_bus.enqueue(update)
        self._wake.set()

    def make_window(self, key: ScopeKey, limit: RateLimit) -> QuotaWindow:
        """Return a limit's window."""
        return self._leases_of(key).add_window(limit)

    def share_slots(self, scope: AccountScope) -> None:
        """Know of a side that bears so many requests at a time."""
        leases = self._leases_of(scope.scope_key)
        if leases.slots is None or leases.slots.scope is not scope:
            leases.slots = LeasedConcurrency(scope, self.mode)

        def lacks() -> None:
            if leases.slots:
                leases.slots.on_exhausted()
                self.request_now(leases)

        scope.on_slots_exhausted = lacks

    def request_now(self, leases: AccountLeases) -> bool:
        """Ask for it at once: somebody waits. Not for all at once, where one of many will do."""
        self._barred[leases] = None
        if self.mode.is_local:
            return True
        if len(self._urgent) >= MOST_URGENT and leases not in self._active:
            return False
        self._active[leases] = self._urgent[leases] = None
        self._wake.set()
        return True

    def request_soon(self, leases: AccountLeases) -> None:
        """Ask for it some time soon."""
        if not self._due:
            # It may sleep until the next heartbeat.
            self._wake.set()
        self._active[leases] = self._due[leases] = None

    async def start(self, pool: AccountPool, timeout: float = 1.0) -> None:
        """Begin to share; a server that does not answer is waited for a little, and tried again by and by."""
        self._pool = pool
        for name, work in (("shared state", self._work()), ("holds", self._cooldown_bus.listen(pool))):
            self._tasks.append(asyncio.get_running_loop().create_task(work, name=f"evenkeel: {name}"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._joined.wait()

    async def stop(self) -> None:
        """Give back what is held, if that is soon done, and let go of the server."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._tasks.clear()
        with contextlib.suppress(Exception):
            if self.is_connected:
                now = self._clock()
                asks = [(leases, ask) for leases in self._active if (ask := leases.return_all(now))]
                await run_with_timeout(self._exchange(asks, leaves=True), LAST_WORDS_SECONDS)
        self.is_connected = False
        with contextlib.suppress(Exception):
            await run_with_timeout(self._store.close(), LAST_WORDS_SECONDS)

    def counts(self) -> SharingCounts:
        """Return how it went so far."""
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

    async def _work(self) -> None:
        while True:
            try:
                await (self._turn() if self.is_connected else self._join())
            except Exception as error:  # noqa: BLE001 - whatever it is, everybody goes on alone, and says so
                await self._enter_local_mode(error)

    async def _join(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        if not await self._attempt(self._exchange([]), JOIN_SECONDS):
            return
        self.is_connected, self._pause = True, 0.0
        self._wake.set()
        self._joined.set()

    async def _turn(self) -> None:
        """Wait until there is something to say, and say it."""
        now = self._clock()
        until = min(self._beats_at, self._ticks_at) if self._due else self._beats_at
        if not self._wake.is_set() and until > now:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(until - now):
                    await self._wake.wait()
        self._wake.clear()
        if self._cooldown_bus.has_updates and not await self._attempt(
            self._cooldown_bus.publish(), self._settings.timeout
        ):
            return
        for asks in self._asks(self._clock()):
            if not await self._attempt(self._exchange(asks), self._settings.timeout):
                return

    def _asks(self, now: float) -> Iterator[list[tuple[AccountLeases, ScopeRequest]]]:
        """Say what is to be asked, in parts."""
        leases, self._urgent = self._urgent, {}
        confirms = now >= self._beats_at
        if now >= self._ticks_at:
            self._ticks_at = now + self._settings.tick
            leases |= self._due
            self._due = {}
        if confirms:
            self._beats_at = now + self._settings.heartbeat
            self._active = {account_leases: None for account_leases in self._active if not account_leases.is_idle}
            leases |= self._active
            self._forget_idle()
        if self.mode.is_local and now >= self.mode.until:
            self._close_slots()
        asks: list[tuple[AccountLeases, ScopeRequest]] = []
        is_heard = False
        for account_leases in leases:
            ask = account_leases.build_request(now, confirms=confirms)
            if account_leases.needs_renewal:
                self._due[account_leases] = None
            if ask:
                asks.append((account_leases, ask))
            if len(asks) == AT_ONCE:
                yield asks
                asks, is_heard = [], True
        if asks or (confirms and not is_heard):
            yield asks

    async def _exchange(self, asks: list[tuple[AccountLeases, ScopeRequest]], *, leaves: bool = False) -> None:
        settings = self._settings
        sides = tuple(ask for _, ask in asks)
        call = LeaseRequest(
            worker=self._worker,
            epoch=self.mode.epoch,
            new_epoch=secrets.token_hex(8),
            gone_seconds=settings.gone,
            fresh_seconds=settings.heartbeat * FRESH_BEATS,
            grace_period=settings.settle,
            rejoins=not self.is_connected and bool(self.mode.epoch),
            leaves=leaves,
            scopes=sides,
        )
        sent = self._clock()
        try:
            response = await self._store.exchange(call)
        except BaseException:
            for leases, _ in asks:
                leases.on_timeout()
            raise
        now = self._clock()
        self._exchanges += 1
        self._answered_at, self.workers = now, response.workers
        self.clock_offset = ClockOffset(response.now - now, response.now - sent)
        for (leases, ask), answer in zip(asks, response.scopes, strict=False):
            if leases.apply_grant(ask, answer, now, self.clock_offset):
                self._open(leases)
        for leases, _ in asks[len(response.scopes) :]:
            leases.on_timeout()
        self._apply_response(response, self.clock_offset, now)

    def _apply_response(self, response: LeaseResponse, clock_offset: ClockOffset, now: float) -> None:
        """Take notice of how the store stands."""
        is_settling = response.now < response.grants_at
        old = self.mode
        if (is_settling, response.epoch, is_settling and response.grants_at) == (old.is_local, old.epoch, self._opens):
            return
        self._opens = is_settling and response.grants_at
        ends = response.grants_at - clock_offset.high - QUIET_TICKS * self._settings.tick if is_settling else math.inf
        workers = max(response.workers, old.workers if is_settling else 1)
        self.mode = SharingMode(is_local=is_settling, workers=workers, epoch=response.epoch, until=ends)
        if old.epoch and response.epoch != old.epoch:
            self._start_epoch(now)
        if is_settling and not old.is_local:
            self._share_slots()
        elif not is_settling:
            self._close_slots()
        self._open_all()

    def _start_epoch(self, now: float) -> None:
        """Tell a store that knows nothing what it has to know."""
        for leases in self._leases.values():
            for window in leases.windows.values():
                window.on_mode_change(now)
            if not leases.is_idle:
                self._active[leases] = None
        for scope in self._pool.scopes.values() if self._pool else ():
            if scope.cooldown.kind is not None and scope.cooldown.until > now:
                self._cooldown_bus.enqueue(scope.cooldown_update())

    async def _attempt(self, work: Coroutine[object, object, None], patience: float) -> bool:
        try:
            await run_with_timeout(work, patience)
        except Exception as error:  # noqa: BLE001 - whatever a driver or a server does, requests go on
            self._errors[type(error).__name__] += 1
            await self._enter_local_mode(error)
            return False
        return True

    async def _enter_local_mode(self, error: Exception) -> None:
        """Go on alone."""
        if self.is_connected:
            self.is_connected, self._pause = False, FIRST_PAUSE
            self._outages += 1
            self.mode = SharingMode(is_local=True, workers=self.workers, epoch=self.mode.epoch)
            self._share_slots()
            self._open_all()
        now = self._clock()
        if now >= self._warned_at + WARNED_EACH_SECONDS:
            self._warned_at = now
            # What an error says of itself may hold an address.
            LOG.warning(
                "The Redis that the workers share does not answer (%s): each of %d goes on with its part of the limits"
                " until it does. See `shared` in the settings of the rotation.",
                type(error).__name__,
                self.workers,
            )
        with contextlib.suppress(Exception):
            await run_with_timeout(self._store.drop(), LAST_WORDS_SECONDS)

    def _share_slots(self) -> None:
        for leases in self._leases.values():
            if leases.slots:
                leases.slots.use_local_share(self.mode)

    def _close_slots(self) -> None:
        for leases in self._leases.values():
            if leases.slots:
                leases.slots.close()

    def _open_all(self) -> None:
        for leases in list(self._barred):
            self._open(leases)

    def _open(self, leases: AccountLeases) -> None:
        self._barred.pop(leases, None)
        scope = self._pool.scopes.get(leases.scope_key) if self._pool else None
        if self._pool and scope:
            self._pool.capacity_freed(scope)
            self._on_capacity()

    def _forget_idle(self) -> None:
        """Forget those that the pool has let go."""
        if self._pool is None or len(self._leases) <= len(self._pool.scopes):
            return
        for key, leases in list(self._leases.items()):
            if key not in self._pool.scopes and leases.is_idle:
                del self._leases[key]
                self._barred.pop(leases, None)
                self._due.pop(leases, None)

    def _leases_of(self, key: ScopeKey) -> AccountLeases:
        leases = self._leases.get(key)
        if leases is None:
            leases = self._leases[key] = AccountLeases(key, self)
        return leases
