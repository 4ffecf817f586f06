"""What is live of an account, or of one model at it: what is left of its limits, what holds it, what is under way."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.bars import Bar, Why
from litellm_evenkeel.rotation.credentials import Credentials
from litellm_evenkeel.rotation.held import Held
from litellm_evenkeel.rotation.holds import Hold, State
from litellm_evenkeel.rotation.kinds import Kind
from litellm_evenkeel.rotation.learned import Learned
from litellm_evenkeel.rotation.limits import Limit, Limits
from litellm_evenkeel.rotation.suspicion import Suspicion
from litellm_evenkeel.rotation.windows import HAIR, Window

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limit_headers import Reading
    from litellm_evenkeel.rotation.need import Need
    from litellm_evenkeel.rotation.place import Place

Key = tuple[str, str | None]
"""An account, and the model at it or None for the account as a whole."""
MakeWindow = Callable[[Key, Limit], Window]
ShareSlots = Callable[["Side"], None]

# An account without a bound on what is under way is pressed by each of its requests as if it had this one.
PRESSED = 40
# When something ends that is under way, nobody knows before it does.
SOON = 1.0
# Another worker may give something back at any time.
SOONER = 0.05


class Side:
    """One account as a whole, or one model at it. All times are the same clock's, in seconds."""

    __slots__ = (
        "_counts",
        "_learned",
        "_make",
        "_own",
        "_share",
        "_told",
        "concurrent",
        "credentials",
        "filled",
        "hold",
        "in_flight",
        "is_lent",
        "key",
        "lacks",
        "opened",
        "places",
        "slots",
        "suspicion",
        "windows",
    )

    def __init__(self, key: Key, hold: Hold, make: MakeWindow, share: ShareSlots) -> None:
        self.key, self.hold, self._make, self._share = key, hold, make, share
        self.places: dict[Place, None] = {}
        self.in_flight = 0
        self.opened = 0
        """How often something has happened that can only have made it freer."""
        self.filled = 0
        """How often something has happened that can have made it less free."""
        self.concurrent: int | None = None
        self.slots: int | None = None
        """How many of them may be used here, where others use the same account; None for all."""
        self.lacks: Callable[[], None] = lambda: None
        """Who hears that all of those are in use."""
        self.windows: tuple[Window, ...] = ()
        self.is_lent = False
        """Whether any of them is used by what is granted, not by what is left."""
        self._own: tuple[Window, ...] = ()
        self._learned = Learned(())
        self._told: dict[Place, Limits] = {}
        self._counts: dict[Limits, int] = {}
        """How many places say the same: of many deployments of an account, most do."""
        self.credentials = Credentials()
        self.suspicion = Suspicion()

    def twin(self) -> Side:
        """Return one of the same state, to try things with, that asks nobody for anything; itself if it never does."""
        windows = tuple([window.glance() for window in self.windows])
        if self.slots is None and windows == self.windows:
            return self
        found = copy(self)
        found.windows, found.slots = windows, None
        return found

    def join(self, place: Place, limits: Limits, now: float) -> bool:
        """Know of a place here, and of what its deployment says of the limits; return whether its key is a new one."""
        self.places[place] = None
        self._told[place] = limits
        same = self._counts.get(limits, 0)
        self._counts[limits] = same + 1
        if not same:
            self._limit()
        return self.credentials.join(place.seat.credential, now)

    def leave(self, place: Place) -> None:
        """Know that a place is no more; what is under way there still counts."""
        if place not in self.places:
            return
        del self.places[place]
        self.credentials.leave(place.seat.credential)
        limits = self._told.pop(place)
        self._counts[limits] -= 1
        if not self._counts[limits]:
            del self._counts[limits]
            if self._counts:
                self._limit()

    def has_outlived(self, newest: str | None) -> bool:
        """Return whether what has died here was another key than those in use, or than one that has just come."""
        hold = self.hold
        if hold.kind is not Kind.PERMANENT:
            return False
        return not self.credentials.has(hold.credential) or newest not in {None, hold.credential}

    def held(self) -> Held:
        """Return what others are to know of its hold."""
        account, model = self.key
        hold = self.hold
        return Held(account, model, hold.kind, hold.reason, hold.until, hold.is_told, hold.credential)

    def bar(self, need: Need, now: float) -> Bar | None:
        """Return what keeps such a request from it now, if anything does."""
        hold = self.hold
        if hold.kind is not None and hold.share(now) <= 0:
            return self._held(now)
        return self.limits_bar(need, now)

    def limits_bar(self, need: Need, now: float) -> Bar | None:
        """Return which limit keeps such a request from it, whatever holds it beside."""
        if self.concurrent is not None and (self.slots is not None or self.in_flight >= self.concurrent):
            bar = self._slots_bar(now)
            if bar is not None:
                return bar
        found = None
        for window in self.windows:
            if not window.has(need, now):
                amount, left = window.amount(need), window.left(now)
                opens_in = window.fits_in(now, max(amount, HAIR))
                is_part = window.is_part(now, amount)
                bar = Bar(
                    Why.WINDOW,
                    now + opens_in,
                    window.limit.name,
                    is_part=is_part,
                    is_coming=window.is_coming(now, amount),
                    wanted=amount,
                    left=left,
                )
                if not is_part:
                    return bar
                found = found or bar
        return found

    def outlook(self, need: Need, now: float) -> Bar | None:
        """Return what keeps such a request from it, wherever it is; whoever asks this wants nothing yet."""
        hold = self.hold
        if hold.kind is not None and hold.share(now) <= 0:
            return self._held(now)
        if self.concurrent is not None and self.in_flight >= self.concurrent:
            return Bar(Why.CONCURRENT, now + SOON, "concurrent", wanted=1, left=0)
        for window in self.windows:
            amount = window.amount(need)
            left = window.remains(now)
            if left + HAIR < amount or left <= 0:
                opens_in = window.comes_in(now, max(amount, HAIR))
                return Bar(Why.WINDOW, now + opens_in, window.limit.name, wanted=amount, left=left)
        return None

    def take(self, need: Need, now: float) -> None:
        """Reserve what a request needs, and count it as under way."""
        self.in_flight += 1
        self.filled += 1
        if self.slots is not None and self.in_flight >= self.slots:
            self.lacks()
        if self.hold.kind is not None:
            self.hold.picked(now)
        for window in self.windows:
            # Not `need[window.place]`: a subscription's window reckons in shares.
            window.take(now, window.amount(need))

    def settle(self, reserved: Need, used: Need, began: float, now: float) -> None:
        """Count what a request has really used, in place of what was reserved for it."""
        self.in_flight -= 1
        if self.concurrent is not None:
            self.opened += 1
        self.amend(reserved, used, began, now)

    def amend(self, reserved: Need, used: Need, began: float, now: float) -> None:
        """Count something else than was counted for a request, be it under way or not."""
        is_freer = False
        for window in self.windows:
            more = window.amount(used) - window.amount(reserved)
            if more > 0:
                window.take(now, more)
                self.filled += 1
            elif more < 0:
                window.give_back(began, now, -more)
                is_freer = True
        if is_freer:
            self.opened += 1

    def knows(self, reading: Reading) -> bool:
        """Return whether an operator has written this limit here."""
        return self._learned.knows(reading)

    def learn(self, readings: list[Reading], began: float, now: float) -> None:
        """Believe what its provider says of its limits."""
        # The request that was answered may still be under way, as a stream; it is in what its provider has counted.
        pending = [lease.need for place in self.places for lease in place.leases if lease.began > began]
        self._learned.learn(readings, began, now, pending)
        self.windows = self._learned.windows
        self.opened += 1
        self.filled += 1

    def release(self, now: float) -> None:
        """Let it be used again, as an operator says: what its provider has told of its limits is not true any more."""
        self.hold.release(now)
        self.suspicion.clear()
        self._learned = self._learned.forgotten()
        self.windows = self._learned.windows
        self.opened += 1

    def pace(self, need: Need, now: float) -> float:
        """Return how far it is ahead of an even use of its tightest limit, less what is under way; 1 without limits."""
        found = 1.0
        if self.windows:
            found = math.inf
            for window in self.windows:
                pace = window.pace(need, now)
                if pace < found:  # noqa: PLR1730 - see `Window.has`
                    found = pace
        if not self.in_flight:
            return found
        pressed = self.in_flight / (self.concurrent or PRESSED)
        return found * (1 - pressed if self.concurrent else 1 / (1 + pressed))

    def bears(self, need: Need, now: float) -> float:
        """Return how many such requests it bears in a second until its limits reset; infinite without any."""
        found = math.inf
        for window in self.windows:
            amount = window.amount(need)
            if amount > 0:
                found = min(found, max(window.remains(now), 0.0) / amount / window.resets_in(now))
        return found

    def stock(self, need: Need, now: float) -> tuple[float, float, float]:
        """Return how many such requests are left of its tightest limit, of how many, and when the first come back."""
        found = math.inf, math.inf, 0.0
        for window in self.windows:
            amount = window.amount(need)
            # Of what is left for all, alone nobody knows enough to share it.
            if amount > 0 and not window.is_alone:
                left = max(window.remains(now), 0.0) / amount
                if left < found[0]:
                    found = left, window.limit.amount / amount, window.returns_in(now)
        return found

    def runs_out_in(self, now: float) -> float:
        """Return in how many seconds the first of its limits is used up; infinite if each resets before."""
        return min((window.runs_out_in(now) for window in self.windows), default=math.inf)

    def _limit(self) -> None:
        """Take the tightest of what its deployments say; what was used of limits that stay still counts."""
        limits = next(iter(self._counts)) if len(self._counts) == 1 else Limits.tightest(self._counts)
        self.concurrent = limits.concurrent
        if self.concurrent is not None:
            self._share(self)
        if limits.windows != tuple(window.limit for window in self._own):
            kept = {window.limit: window for window in self._own}
            former = {(limit.unit, limit.seconds): window for limit, window in kept.items()}
            own = []
            for limit in limits.windows:
                window = kept.get(limit) or self._make(self.key, limit)
                before = former.get((limit.unit, limit.seconds))
                if before is not None and before is not window:
                    window.replaces(before)
                own.append(window)
            self._own = tuple(own)
            self.is_lent = any(window.is_lent for window in own)
            self._learned = self._learned.with_own(self._own)
        self.windows = self._learned.windows
        self.opened += 1
        self.filled += 1

    def _slots_bar(self, now: float) -> Bar | None:
        if self.concurrent is not None and self.in_flight >= self.concurrent:
            return Bar(Why.CONCURRENT, now + SOON, "concurrent", wanted=1, left=0)
        if self.slots is not None and self.in_flight >= self.slots:
            self.lacks()
            return Bar(Why.CONCURRENT, now + SOONER, "concurrent", wanted=1, left=0)
        return None

    def _held(self, now: float) -> Bar:
        hold = self.hold
        state = hold.state(now)
        if state is State.QUARANTINED:
            return Bar(Why.QUARANTINED, math.inf, hold.reason)
        if state is State.PROBING:
            return Bar(Why.PROBING, hold.probe_ends(), hold.reason, is_sure=False)
        is_sure = now < hold.told_until
        return Bar(Why.HELD, hold.told_until if is_sure else hold.until, hold.reason, is_sure)
