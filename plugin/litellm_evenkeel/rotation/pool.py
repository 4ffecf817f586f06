"""The heart of the rotation: the live state of all accounts, who is picked, what is learned from how it went.

Pure: no I/O, no LiteLLM, not a thread; clock and random numbers are handed in. What takes longer than a pick, the
making of snapshots, is left to a `refresh` that is handed in too; without one it is done where it is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.asked import Asked
from litellm_evenkeel.rotation.choosing import choose
from litellm_evenkeel.rotation.group import Group
from litellm_evenkeel.rotation.held import Held
from litellm_evenkeel.rotation.holds import Hold
from litellm_evenkeel.rotation.kinds import Kind, Scope
from litellm_evenkeel.rotation.lease import Lease
from litellm_evenkeel.rotation.picks import Full, Pick, Reason
from litellm_evenkeel.rotation.place import Place
from litellm_evenkeel.rotation.side import Side
from litellm_evenkeel.rotation.sides import Sides
from litellm_evenkeel.rotation.signals import Signal, clamped
from litellm_evenkeel.rotation.strategies import STRATEGIES
from litellm_evenkeel.rotation.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litellm_evenkeel.rotation.limit_headers import Reading
    from litellm_evenkeel.rotation.need import Need
    from litellm_evenkeel.rotation.seat import Seat
    from litellm_evenkeel.rotation.side import Key, MakeWindow, ShareSlots
    from litellm_evenkeel.rotation.terms import RotationTerms


class Pool:
    """All accounts."""

    def __init__(
        self,
        terms: RotationTerms,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        refresh: Callable[[Group], None] | None = None,
        tell: Callable[[Held], None] | None = None,
        window: MakeWindow | None = None,
        opened: Callable[[Group], None] | None = None,
        slots: ShareSlots | None = None,
    ) -> None:
        self.terms = terms
        self._clock, self._random = clock, random
        self._refresh = refresh or self.refresh
        self._tell = tell or (lambda _: None)
        self._opened = opened or (lambda _: None)
        self._window = window or (lambda _key, limit: Window(limit))
        self._slots = slots or (lambda _: None)
        self._sides = Sides(self._made)
        self.sides = self._sides.known
        self.places: dict[tuple[str, str], Place] = {}
        self._leaving: dict[Place, None] = {}
        """Those that stood in groups that are no more, as long as they have something under way."""
        # The oldest is found at once, however many have left before it; in a dictionary it is searched for.
        self._leases: OrderedDict[Lease, None] = OrderedDict()

    def now(self) -> float:
        """Return what its clock says."""
        return self._clock()

    def place(self, seat: Seat) -> Place:
        """Return the place of a seat; a seat that has changed takes what was used so far with it."""
        key = (seat.id, seat.model)
        place = self.places.get(key)
        if place is not None and place.seat == seat:
            return place
        former, now = place, self._clock()
        account, model = self._sides.of((seat.account, None)), self._sides.of((seat.account, seat.model))
        place = self.places[key] = Place(seat, account, model)
        is_new_key = account.join(place, seat.limits, now)
        model.join(place, seat.model_limits, now)
        if former is not None:
            self._part(former)
            for side in (former.model, former.account):
                self._sides.rests(side, now)
        for side in self._sides.of_account(seat.account) if is_new_key else (account, model):
            if side.has_outlived(seat.credential if is_new_key else None):
                self._free(side)
        for side in (account, model):
            held = self._sides.recall(side.key)
            if held is not None:
                self.hold(held)
        return place

    def group(self, name: str, seats: Sequence[Seat]) -> Group:
        """Return candidates as a group of its own."""
        strategy = STRATEGIES[self.terms.strategy](self._random)
        return Group(name, [self.place(seat) for seat in seats], strategy, self._clock())

    def twin(self, group: Group, random: Callable[[], float]) -> Group:
        """Return a group as the next pick would find it, to try things with: the group itself stays as it is."""
        found, now = group.twin(random), self._clock()
        if self._refresh == self.refresh or not self.terms.snapshot_ttl:
            self.keep_fresh(found, now)
        return found

    def forget(self, place: Place) -> None:
        """Let a deployment go that is no more; what was used of its account, and what holds it, still counts."""
        self._part(place)
        del self.places[place.seat.id, place.seat.model]
        for side in (place.model, place.account):
            self._sides.rests(side, self._clock())

    def dissolve(self, group: Group) -> None:
        """Let candidates go that are asked for no more, but for those that stand in another group."""
        group.leave()
        self._opened(group)
        self._leaving.update(dict.fromkeys(group.places))
        self._let_go()

    def tidy(self) -> None:
        """Let accounts go that have no deployment, and of which nothing counts any more."""
        self._let_go()
        self._sides.tidy(self._clock())

    def pick(
        self, group: Group, asked: Asked, is_there: Callable[[int, Place], bool] = lambda _position, _place: True
    ) -> Pick | Full | None:
        """Choose; None where the candidates are no longer those of the group."""
        if group.is_left:
            return None
        now = self._clock()
        self.expire(now)
        self.keep_fresh(group, now)
        found = choose(group, asked, now, self._random)
        if isinstance(found, Full):
            return found
        position, reason = found
        return self._take(group, position, asked, now, reason) if is_there(position, group.places[position]) else None

    def known_full(self, group: Group, asked: Asked) -> Full | None:
        """Return what stands before a request if all were found shut for such ones; nothing is looked at anew."""
        now = self._clock()
        if group.full is None or now >= group.full_until or asked.need.tokens < group.full_tokens or group.freed:
            return None
        return Full(group.full_until - now, group.full)

    def is_full(self, group: Group, need: Need) -> bool:
        """Return whether there is nothing for such a request, whoever makes it; nothing is taken."""
        return isinstance(choose(group, Asked(need), self._clock(), self._random), Full)

    def settle(
        self,
        lease: Lease,
        used: Need,
        *,
        latency: float | None = None,
        readings: tuple[Reading, ...] = (),
        is_success: bool = True,
    ) -> None:
        """Know how a request ended that has used something: what was reserved is replaced by it, however late."""
        if not self._close(lease, used) and not self._amend(lease, used):
            return
        now = self._clock()
        place = lease.place
        if latency is not None:
            place.latency.observe(now, latency)
        if not lease.is_taught:
            self._learn(lease, readings, now)
        if is_success:
            self._succeeded(lease, now)
        self._changed(place, now)

    def began(self, lease: Lease, readings: tuple[Reading, ...] = ()) -> None:
        """Know that an answer has begun, however long it will take, and what its provider says of its limits."""
        now = self._clock()
        lease.answered = now
        # What was true at its beginning is old at its end.
        lease.is_taught = bool(readings)
        self._learn(lease, readings, now)
        self._succeeded(lease, now)

    def release(self, lease: Lease) -> None:
        """Know that a request ended, and nothing else of it: it counts as one, without tokens."""
        lease.kept = None
        if not self._close(lease, _without_end(lease)):
            return
        now = self._clock()
        for side in (lease.place.account, lease.place.model):
            if side.hold.gave_up(now, lease.began):
                self._touch(side)

    def fail(self, lease: Lease, signal: Signal, readings: tuple[Reading, ...] = ()) -> Signal:
        """Know of a failed attempt and of what it says; return what is believed of that."""
        now = self._clock()
        self.release(lease)
        lease.kept = None
        place = lease.place
        self._learn(lease, readings, now)
        credential = place.seat.credential
        if signal.kind is Kind.PERMANENT and place.account.credentials.is_outdated(credential, lease.began):
            # It went out with a key that has been replaced since.
            return signal
        if not signal.is_certain and not place.account.suspicion.is_proved(lease.client, lease.began, now):
            signal = Signal(Kind.TRANSIENT, Scope.ACCOUNT_MODEL, None, signal.reason)
        signal = self._believed(signal)
        side = {Scope.ACCOUNT: place.account, Scope.ACCOUNT_MODEL: place.model}.get(signal.scope)
        if side is not None and side.hold.failed(signal, now, lease.began, credential):
            self._touch(side)
            self._tell(side.held())
        return signal

    def hold(self, held: Held) -> None:
        """Know what another worker has learned; nobody is told again."""
        if held.kind is None and held.model is None:
            self._release(held.account)
            return
        side = self.sides.get((held.account, held.model))
        if side is None or not side.credentials.has(held.credential):
            self._sides.remember(held, self._clock())
            return
        if side.hold.told(held, self._clock()):
            self._touch(side)

    def release_account(self, account: str) -> bool:
        """Free an account and all its models of whatever holds them, as an operator says; whether there is one."""
        if not self._release(account):
            return False
        self._tell(Held(account, None, None, "", self._clock(), is_told=True))
        return True

    def expire(self, now: float) -> int:
        """Give back what was reserved by those of whom nothing was heard for too long; return how many these were."""
        number = 0
        while self._leases:
            lease = next(iter(self._leases))
            if lease.until > now:
                break
            self.release(lease)
            lease.kept = _without_end(lease)
            number += 1
        return number

    def refresh(self, group: Group) -> None:
        """Make the snapshot anew, now."""
        now = self._clock()
        if now >= group.snapshot.taken + group.lasts(self.terms.snapshot_ttl):
            for _ in group.refreshing(now):
                pass
        else:
            group.patch(now)

    def keep_fresh(self, group: Group, now: float) -> None:
        """See to it that a group's snapshot is no older than it may be; with it, clients share anew what is left."""
        snapshot = group.snapshot
        if not self.terms.snapshot_ttl:
            self.refresh(group)
            return
        ttl = self.terms.snapshot_ttl
        if group.is_low:
            ttl = group.lasts(ttl)
        if now >= snapshot.taken + ttl or group.dirty or now >= snapshot.opens_at:
            self._refresh(group)

    def _take(self, group: Group, position: int, asked: Asked, now: float, reason: Reason) -> Pick:
        place = group.places[position]
        account, model = place.account, place.model
        if account.hold.kind is not None or model.hold.kind is not None:
            reason = Reason.PROBE if reason is Reason.STRATEGY else reason
        account.take(asked.need, now)
        model.take(asked.need, now)
        lease = Lease(place, asked.need, now, now + self.terms.lease, asked.client, is_stream=asked.is_stream)
        self._leases[lease] = place.leases[lease] = None
        group.strategy.chosen(position)
        return Pick(place, position, lease, reason)

    def _close(self, lease: Lease, used: Need) -> bool:
        if not lease.is_open:
            return False
        lease.is_open = False
        self._leases.pop(lease, None)
        place = lease.place
        place.leases.pop(lease, None)
        now = self._clock()
        for side in (place.account, place.model):
            opened = side.opened
            side.settle(lease.need, used, lease.began, now)
            if side.opened != opened:
                self.freed(side)
        return True

    def _amend(self, lease: Lease, used: Need) -> bool:
        """Count what a request has used of whom nothing was heard for too long, beside what was kept of it."""
        kept, lease.kept = lease.kept, None
        if kept is None:
            return False
        now = self._clock()
        for side in (lease.place.account, lease.place.model):
            side.amend(kept, used, lease.began, now)
        return True

    def _learn(self, lease: Lease, readings: tuple[Reading, ...], now: float) -> None:
        if readings:
            place = lease.place
            place.learn(readings, lease.began, now)
            self.freed(place.account)
            self.freed(place.model)

    def _succeeded(self, lease: Lease, now: float) -> None:
        lease.place.account.suspicion.clear()
        for side in (lease.place.account, lease.place.model):
            if side.hold.succeeded(now, lease.began):
                self._touch(side)
                self.freed(side)

    def freed(self, side: Side) -> None:
        """Know that more is left of a side's limits than was."""
        now = self._clock()
        side.opened += 1
        for place in side.places:
            for group, position in place.groups:
                if now < group.full_until:
                    group.freed.add(position)
                self._opened(group)

    def _changed(self, place: Place, now: float) -> None:
        for group, position in place.groups:
            if group.has_changed(position, now):
                group.dirty.add(position)

    def _touch(self, side: Side) -> None:
        for place in side.places:
            place.forget()
            for group, position in place.groups:
                group.dirty.add(position)
                group.full = None
                self._refresh(group)
                self._opened(group)

    def _believed(self, signal: Signal) -> Signal:
        seconds = clamped(
            signal.seconds,
            signal.kind,
            rate_limit=self.terms.holds.longest_rate_limit,
            quota=self.terms.holds.longest_quota,
        )
        return signal if seconds == signal.seconds else replace(signal, seconds=seconds)

    def _release(self, account: str) -> bool:
        was_heard = self._sides.forget(account)
        sides = self._sides.of_account(account)
        for side in sides:
            self._free(side)
        return was_heard or bool(sides)

    def _free(self, side: Side) -> None:
        side.release(self._clock())
        self._touch(side)

    def _made(self, key: Key) -> Side:
        return Side(key, Hold(self.terms.holds, self._random), self._window, self._slots)

    def _part(self, place: Place) -> None:
        for side in (place.account, place.model):
            side.leave(place)
        for group in dict.fromkeys(group for group, _ in place.groups):
            group.leave()

    def _let_go(self) -> None:
        for place in list(self._leaving):
            is_gone = self.places.get((place.seat.id, place.seat.model)) is not place
            if place.leases and not place.groups and not is_gone:
                continue
            del self._leaving[place]
            if not place.groups and not is_gone:
                self.forget(place)


def _without_end(lease: Lease) -> Need:
    """Return what counts of a request of whose end nobody tells."""
    return lease.need._replace(tokens=0.0, dollars=0.0)
