"""Which account each session is pinned to, as far as this worker knows: in memory, at once, and bounded.

The way of a request: `pinned` tells the account, `escapes.advise` whether it is followed, and `chosen` what came of it.
Where it cannot be followed, `meanwhile` tells the one account to which the session goes till then: a pin too, by
another name, so that it is as bounded, lapses as it does, and is shared as it is.
Where pins are shared, others are told what they should know of it, and `adopt` takes over what they know.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from litellm_evenkeel.rotation.affinity.cache_savings import CacheSavings, CacheSavingsCounter, SessionOutcome
from litellm_evenkeel.support.decay import DecayingCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.affinity.session_key import SessionKey
    from litellm_evenkeel.rotation.settings import AffinitySettings

# Others are told of a pin that goes on as often as this in its time to live, not at each request.
TOLD_AGAIN = 0.25
MOST_GROUPS = 1_000
FORGOTTEN_AT_ONCE = 64
# What the name of a session ends with where it goes meanwhile.
MEANWHILE = "+"


class PinChange(NamedTuple):
    """What others should know of a pin."""

    key: str
    account: str
    replaces: bool
    """Whether it holds whatever others have pinned the session to; if not, what they have pinned goes on."""


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """What has happened so far, and what there is."""

    sessions: int
    """Sessions that are remembered, those that were elsewhere meanwhile twice; some of them may have lapsed without
    having been looked at since."""
    accounts: Mapping[str, int]
    hits: int
    new: int
    fallbacks: int
    moved: int
    refused: int
    """Sessions that were not pinned because their account has as many as it may have."""
    evicted: int
    """Pins that were forgotten because there were too many."""
    merged: int
    """Pins that were learned from others."""
    savings: CacheSavings


class SessionTable:
    """The pins of one worker. All times are the same clock's, in seconds."""

    def __init__(self, settings: AffinitySettings, on_change: Callable[[PinChange], None] | None = None) -> None:
        self._settings = settings
        self.on_change = on_change
        """Whom to tell what others should know, if there are any."""
        # In the order in which they lapse: all live equally long, and who is refreshed goes to the end.
        self._pins: OrderedDict[str, _Pin] = OrderedDict()
        self._lapses_at = math.inf
        """Before that, none of them does."""
        self._counts: dict[str, int] = {}
        # An account whose pins are dropped begins anew; pins of its former days are dead wherever they lie.
        self._days: dict[str, int] = {}
        self._groups: OrderedDict[str, DecayingCounter] = OrderedDict()
        self._happened: Counter[str] = Counter()
        self._affinity = CacheSavingsCounter()

    def account_of(self, key: SessionKey, now: float) -> str | None:
        """Return the account that a session is pinned to; that alone keeps no pin alive."""
        if key.text not in self._pins:
            return None
        pin = self._live(key.text, now)
        return pin.account if pin else None

    def fallback_of(self, key: SessionKey, now: float) -> str | None:
        """Return where a session goes while its own account cannot be used, if it has been elsewhere before."""
        pin = self._live(key.text + MEANWHILE, now)
        return pin.account if pin else None

    def away_for(self, key: SessionKey, now: float) -> float:
        """Return for how many seconds a session has not been where it is pinned, though it would have been."""
        pin = self._live(key.text, now)
        return max(now - pin.left_at, 0.0) if pin else 0.0

    def record(
        self, key: SessionKey, account: str, now: float, *, is_fallback: bool, is_spread: bool = False
    ) -> SessionOutcome:
        """Know where a request of a session goes, and return what that means for it.

        A session without a pin gets one. A pin goes on when it was followed; a fallback leaves it as it is, and the
        next one goes to the same account, unless what many share is to be spread; otherwise the session moves. Where
        the account has as many sessions as it may have, the session is pinned to nobody.
        """
        if self._settings.hot_factor and not key.source.names_a_session:
            self._group(key.group).add(now)
        pin = self._live(key.text, now) if key.text in self._pins else None
        if pin and pin.account == account:
            return self._hit(key, pin, now)
        if pin and is_fallback:
            self._happened["fallbacks"] += 1
            if not is_spread:
                self._elsewhere(key, pin, account, now)
            return SessionOutcome.FALLBACK
        outcome = SessionOutcome.MOVED if pin else SessionOutcome.NEW
        self._happened["moved" if pin else "new"] += 1
        if pin:
            self._remove(key.text)
        if not self.has_room(account, now):
            self._happened["refused"] += 1
            return outcome
        self._pin(key.text, account, now)
        if self.on_change is not None:
            self.on_change(PinChange(key.text, account, replaces=pin is not None))
        return outcome

    def merge(self, key: str, account: str, now: float) -> None:
        """Take over what others have pinned a session to; it counts as one of the account's, even beyond its cap."""
        pin = self._live(key, now)
        if pin and pin.account == account:
            return
        if pin:
            self._remove(key)
        self._happened["merged"] += 1
        self._pin(key, account, now)

    def is_overloaded(self, key: SessionKey, now: float, accounts: int) -> bool:
        """Say whether what many sessions share has brought its account more than its share of late.

        Never true of an explicit session. Of the others: of the group's traffic with shared keys, in about the last
        minute, one key may bring its account `hot_factor` times what each account would get if all got the same.
        The rest goes where the strategy says: with so much traffic the prompt is soon in the cache there as well.
        """
        if key.source.names_a_session or not self._settings.hot_factor:
            return False
        pin = self._live(key.text, now)
        group = self._groups.get(key.group)
        if pin is None or pin.traffic is None or group is None:
            return False
        brought = pin.traffic.count(now)
        share = self._settings.hot_factor / max(accounts, 1)
        return brought >= self._settings.hot_floor and brought >= share * group.count(now)

    def has_room(self, account: str, now: float) -> bool:
        """Say whether an account may have another session."""
        if now >= self._lapses_at:
            self._forget_lapsed(now)
        return self._counts.get(account, 0) < self._settings.most_pins_per_account

    def forget_account(self, account: str) -> None:
        """Forget all pins of an account, however many, at once."""
        if self._counts.pop(account, 0):
            self._days[account] = self._days.get(account, 0) + 1

    def observe_cache(self, outcome: SessionOutcome, prompt_tokens: int, cached_tokens: int) -> None:
        """Know how much of a request's prompt its provider had in its cache."""
        self._affinity.observe(outcome, prompt_tokens, cached_tokens)

    def counts(self) -> SessionCounts:
        """Return what has happened so far."""
        names = ("hits", "new", "fallbacks", "moved", "refused", "evicted", "merged")
        happened = {name: self._happened[name] for name in names}
        accounts = {account: count for account, count in self._counts.items() if count}
        return SessionCounts(sum(accounts.values()), accounts, **happened, savings=self._affinity.savings())

    def _hit(self, key: SessionKey, pin: _Pin, now: float) -> SessionOutcome:
        self._happened["hits"] += 1
        pin.left_at = math.inf
        if not key.source.names_a_session:
            pin.add(now)
        self._goes_on(key.text, pin, now)
        return SessionOutcome.HIT

    def _elsewhere(self, key: SessionKey, pin: _Pin, account: str, now: float) -> None:
        """Know where a session is meanwhile."""
        pin.left_at = min(pin.left_at, now)
        name = key.text + MEANWHILE
        other = self._live(name, now)
        if other and other.account == account:
            if not key.source.names_a_session:
                # What many share would crowd this account as well.
                pin.add(now)
            self._goes_on(name, other, now)
            return
        if other:
            self._remove(name)
        # Where its own pin is the next to be forgotten for others, it would be forgotten for this.
        is_last = len(self._pins) >= self._settings.most_pins and next(iter(self._pins)) == key.text
        if is_last or not self.has_room(account, now):
            return
        self._pin(name, account, now)
        if self.on_change is not None:
            self.on_change(PinChange(name, account, replaces=other is not None))

    def _goes_on(self, name: str, pin: _Pin, now: float) -> None:
        pin.until = max(pin.until, now + self._settings.ttl)
        self._pins.move_to_end(name)
        if self.on_change is not None and now >= pin.told + self._settings.ttl * TOLD_AGAIN:
            pin.told = now
            self.on_change(PinChange(name, pin.account, replaces=False))

    def _pin(self, key: str, account: str, now: float) -> None:
        until = now + self._settings.ttl
        pin = _Pin(account, self._days.get(account, 0), until, now)
        self._lapses_at = min(self._lapses_at, until)
        # A key that was there has been removed: it goes to the end.
        self._pins[key] = pin
        self._counts[account] = self._counts.get(account, 0) + 1
        while len(self._pins) > self._settings.most_pins:
            self._happened["evicted"] += self._remove(next(iter(self._pins)))

    def _live(self, key: str, now: float) -> _Pin | None:
        pin = self._pins.get(key)
        if pin is None or (now < pin.until and pin.day == self._days.get(pin.account, 0)):
            return pin
        self._remove(key)
        return None

    def _remove(self, key: str) -> bool:
        """Forget a pin; return whether it was one of its account's still."""
        pin = self._pins.pop(key)
        is_counted = pin.day == self._days.get(pin.account, 0)
        if is_counted:
            self._counts[pin.account] -= 1
        return is_counted

    def _forget_lapsed(self, now: float) -> None:
        # Not all at once: after a quiet night there may be thousands.
        pins = self._pins
        for _ in range(min(FORGOTTEN_AT_ONCE, len(pins))):
            key = next(iter(pins))
            self._lapses_at = pins[key].until
            if now < self._lapses_at:
                return
            self._remove(key)

    def _group(self, name: str) -> DecayingCounter:
        found = self._groups.get(name)
        if found is None:
            found = self._groups[name] = DecayingCounter()
            if len(self._groups) > MOST_GROUPS:
                self._groups.popitem(last=False)
        return found


class _Pin:
    __slots__ = ("account", "day", "left_at", "told", "traffic", "until")

    def __init__(self, account: str, day: int, until: float, told: float) -> None:
        self.account, self.day, self.until, self.told = account, day, until, told
        self.traffic: DecayingCounter | None = None
        self.left_at = math.inf
        """Since when its session has not been there."""

    def add(self, now: float) -> None:
        """Count a request of what many may share."""
        self.traffic = self.traffic or DecayingCounter()
        self.traffic.add(now)
