"""One worker's share in what all share: it asks for all its accounts at once, and goes on alone when nobody answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
from collections import Counter
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.shared.asks import Call
from litellm_evenkeel.rotation.shared.counts import SharedCounts
from litellm_evenkeel.rotation.shared.desk import Desk
from litellm_evenkeel.rotation.shared.gossip import Gossip
from litellm_evenkeel.rotation.shared.ground import Standing, Times
from litellm_evenkeel.rotation.shared.patience import within
from litellm_evenkeel.rotation.shared.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from litellm_evenkeel.rotation.held import Held
    from litellm_evenkeel.rotation.limits import Limit
    from litellm_evenkeel.rotation.pool import Pool
    from litellm_evenkeel.rotation.shared.asks import Reply, SideAsk, Store
    from litellm_evenkeel.rotation.shared.gossip import Board
    from litellm_evenkeel.rotation.shared.terms import Sharing
    from litellm_evenkeel.rotation.side import Key, Side
    from litellm_evenkeel.rotation.windows import Window

log = logging.getLogger(__name__)

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


class Shared:
    """A pool takes `tell`, `window` and `slots` from here; then it is started with the pool."""

    def __init__(
        self,
        store: Store,
        board: Board,
        terms: Sharing,
        *,
        clock: Callable[[], float],
        freed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._terms, self._clock, self._freed = store, terms, clock, freed
        self._worker = secrets.token_hex(8)
        self._gossip = Gossip(board, self._worker, clock)
        self._pool: Pool | None = None
        self._desks: dict[Key, Desk] = {}
        self._active: dict[Desk, None] = {}
        self._urgent: dict[Desk, None] = {}
        self._due: dict[Desk, None] = {}
        self._barred: dict[Desk, None] = {}
        self._wake, self._joined = asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.standing = Standing(is_local=True, workers=terms.workers)
        self.times: Times | None = None
        self.is_connected = False
        self._opens = 0.0
        self.workers = terms.workers
        self._pause = 0.0
        self._ticks_at = self._beats_at = self._answered_at = self._warned_at = -math.inf
        self._outages = self._exchanges = 0
        self._errors: Counter[str] = Counter()

    def tell(self, held: Held) -> None:
        """Let others know of a hold."""
        self._gossip.tell(held)
        self._wake.set()

    def window(self, key: Key, limit: Limit) -> Window:
        """Return a limit's window."""
        return self._desk(key).window(limit)

    def slots(self, side: Side) -> None:
        """Know of a side that bears so many requests at a time."""
        desk = self._desk(side.key)
        if desk.slots is None or desk.slots.side is not side:
            desk.slots = Slots(side, self.standing)

        def lacks() -> None:
            if desk.slots:
                desk.slots.lack()
                self.lacks(desk)

        side.lacks = lacks

    def lacks(self, desk: Desk) -> bool:
        """Ask for it at once: somebody waits. Not for all at once, where one of many will do."""
        self._barred[desk] = None
        if self.standing.is_local:
            return True
        if len(self._urgent) >= MOST_URGENT and desk not in self._active:
            return False
        self._active[desk] = self._urgent[desk] = None
        self._wake.set()
        return True

    def wishes(self, desk: Desk) -> None:
        """Ask for it some time soon."""
        if not self._due:
            # It may sleep until the next heartbeat.
            self._wake.set()
        self._active[desk] = self._due[desk] = None

    async def start(self, pool: Pool, patience: float = 1.0) -> None:
        """Begin to share; a server that does not answer is waited for a little, and tried again by and by."""
        self._pool = pool
        for name, work in (("shared state", self._work()), ("holds", self._gossip.listen(pool))):
            self._tasks.append(asyncio.get_running_loop().create_task(work, name=f"evenkeel: {name}"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
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
                asks = [(desk, ask) for desk in self._active if (ask := desk.leave(now))]
                await within(self._exchange(asks, leaves=True), LAST_WORDS_SECONDS)
        self.is_connected = False
        with contextlib.suppress(Exception):
            await within(self._store.close(), LAST_WORDS_SECONDS)

    def counts(self) -> SharedCounts:
        """Return how it went so far."""
        return SharedCounts(
            is_connected=self.is_connected,
            is_local=self.standing.is_local,
            age=self._clock() - self._answered_at,
            workers=self.workers,
            outages=self._outages,
            errors=dict(self._errors),
            exchanges=self._exchanges,
            said=self._gossip.said,
            heard=self._gossip.heard,
            damaged=self._gossip.damaged,
            is_listening=self._gossip.is_listening,
        )

    async def _work(self) -> None:
        while True:
            try:
                await (self._turn() if self.is_connected else self._join())
            except Exception as error:  # noqa: BLE001 - whatever it is, everybody goes on alone, and says so
                await self._lose(error)

    async def _join(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        if not await self._tried(self._exchange([]), JOIN_SECONDS):
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
        if self._gossip.has_words and not await self._tried(self._gossip.say(), self._terms.timeout):
            return
        for asks in self._asks(self._clock()):
            if not await self._tried(self._exchange(asks), self._terms.timeout):
                return

    def _asks(self, now: float) -> Iterator[list[tuple[Desk, SideAsk]]]:
        """Say what is to be asked, in parts."""
        desks, self._urgent = self._urgent, {}
        confirms = now >= self._beats_at
        if now >= self._ticks_at:
            self._ticks_at = now + self._terms.tick
            desks |= self._due
            self._due = {}
        if confirms:
            self._beats_at = now + self._terms.heartbeat
            self._active = {desk: None for desk in self._active if not desk.is_idle}
            desks |= self._active
            self._forget()
        if self.standing.is_local and now >= self.standing.ends:
            self._close_slots()
        asks: list[tuple[Desk, SideAsk]] = []
        is_heard = False
        for desk in desks:
            ask = desk.ask(now, confirms=confirms)
            if desk.is_restless:
                self._due[desk] = None
            if ask:
                asks.append((desk, ask))
            if len(asks) == AT_ONCE:
                yield asks
                asks, is_heard = [], True
        if asks or (confirms and not is_heard):
            yield asks

    async def _exchange(self, asks: list[tuple[Desk, SideAsk]], *, leaves: bool = False) -> None:
        terms = self._terms
        sides = tuple(ask for _, ask in asks)
        call = Call(
            worker=self._worker,
            epoch=self.standing.epoch,
            new_epoch=secrets.token_hex(8),
            gone=terms.gone,
            fresh=terms.heartbeat * FRESH_BEATS,
            settle=terms.settle,
            rejoins=not self.is_connected and bool(self.standing.epoch),
            leaves=leaves,
            sides=sides,
        )
        sent = self._clock()
        try:
            reply = await self._store.exchange(call)
        except BaseException:
            for desk, _ in asks:
                desk.unanswered()
            raise
        now = self._clock()
        self._exchanges += 1
        self._answered_at, self.workers = now, reply.workers
        self.times = Times(reply.now - now, reply.now - sent)
        for (desk, ask), answer in zip(asks, reply.sides, strict=False):
            if desk.answered(ask, answer, now, self.times):
                self._open(desk)
        for desk, _ in asks[len(reply.sides) :]:
            desk.unanswered()
        self._stand(reply, self.times, now)

    def _stand(self, reply: Reply, times: Times, now: float) -> None:
        """Take notice of how the store stands."""
        is_settling = reply.now < reply.opens
        old = self.standing
        if (is_settling, reply.epoch, is_settling and reply.opens) == (old.is_local, old.epoch, self._opens):
            return
        self._opens = is_settling and reply.opens
        ends = reply.opens - times.high - QUIET_TICKS * self._terms.tick if is_settling else math.inf
        workers = max(reply.workers, old.workers if is_settling else 1)
        self.standing = Standing(is_local=is_settling, workers=workers, epoch=reply.epoch, ends=ends)
        if old.epoch and reply.epoch != old.epoch:
            self._begin_anew(now)
        if is_settling and not old.is_local:
            self._share_slots()
        elif not is_settling:
            self._close_slots()
        self._open_all()

    def _begin_anew(self, now: float) -> None:
        """Tell a store that knows nothing what it has to know."""
        for desk in self._desks.values():
            for window in desk.windows.values():
                window.stand(now)
            if not desk.is_idle:
                self._active[desk] = None
        for side in self._pool.sides.values() if self._pool else ():
            if side.hold.kind is not None and side.hold.until > now:
                self._gossip.tell(side.held())

    async def _tried(self, work: Coroutine[object, object, None], patience: float) -> bool:
        try:
            await within(work, patience)
        except Exception as error:  # noqa: BLE001 - whatever a driver or a server does, requests go on
            self._errors[type(error).__name__] += 1
            await self._lose(error)
            return False
        return True

    async def _lose(self, error: Exception) -> None:
        """Go on alone."""
        if self.is_connected:
            self.is_connected, self._pause = False, FIRST_PAUSE
            self._outages += 1
            self.standing = Standing(is_local=True, workers=self.workers, epoch=self.standing.epoch)
            self._share_slots()
            self._open_all()
        now = self._clock()
        if now >= self._warned_at + WARNED_EACH_SECONDS:
            self._warned_at = now
            # What an error says of itself may hold an address.
            log.warning(
                "The Redis that the workers share does not answer (%s): each of %d goes on with its part of the limits"
                " until it does. See `shared` in the settings of the rotation.",
                type(error).__name__,
                self.workers,
            )
        with contextlib.suppress(Exception):
            await within(self._store.drop(), LAST_WORDS_SECONDS)

    def _share_slots(self) -> None:
        for desk in self._desks.values():
            if desk.slots:
                desk.slots.alone(self.standing)

    def _close_slots(self) -> None:
        for desk in self._desks.values():
            if desk.slots:
                desk.slots.close()

    def _open_all(self) -> None:
        for desk in list(self._barred):
            self._open(desk)

    def _open(self, desk: Desk) -> None:
        self._barred.pop(desk, None)
        side = self._pool.sides.get(desk.key) if self._pool else None
        if self._pool and side:
            self._pool.freed(side)
            self._freed()

    def _forget(self) -> None:
        """Forget those that the pool has let go."""
        if self._pool is None or len(self._desks) <= len(self._pool.sides):
            return
        for key, desk in list(self._desks.items()):
            if key not in self._pool.sides and desk.is_idle:
                del self._desks[key]
                self._barred.pop(desk, None)
                self._due.pop(desk, None)

    def _desk(self, key: Key) -> Desk:
        desk = self._desks.get(key)
        if desk is None:
            desk = self._desks[key] = Desk(key, self)
        return desk
