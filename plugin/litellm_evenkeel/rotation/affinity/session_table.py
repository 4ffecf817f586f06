"""The pins of one worker: in memory, available at once, and bounded.

For each request, `account_of` returns the pinned account, `policy.decide` says whether the request follows the pin, and
`record` records the account that was picked. While a session cannot use its own account, `fallback_of` returns the one
fallback account that it uses instead. A fallback is stored as a pin under another name, so it is bounded, expires and
is shared like any other pin. If workers share their pins, `on_change` passes changes on, and `merge` takes over theirs.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from litellm_evenkeel.rotation.affinity.cache_savings import CacheSavings, CacheSavingsCounter, SessionOutcome
from litellm_evenkeel.support.decay import DecayingCounter
from litellm_evenkeel.support.lru_dict import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.affinity.session_key import SessionKey
    from litellm_evenkeel.rotation.settings import AffinitySettings

# A pin in use is shared again after this share of its time to live, rather than at each request.
RESHARE_TTL_SHARE = 0.25
MAX_MODEL_GROUPS = 1_000
# Traffic is counted over about this time.
TRAFFIC_SECONDS = 60.0
MAX_EXPIRED_PER_CALL = 64
# Suffix of a session's key under which its fallback account is stored.
FALLBACK_SUFFIX = "+"


class PinChange(NamedTuple):
    """Change of a pin that is passed on to other workers."""

    key: str
    account: str
    replaces: bool
    """Whether the change overrides pins of other workers; if not, theirs take precedence."""


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """Counters since the start, and the current number of pins."""

    sessions: int
    """Number of pins, fallbacks included. Some of them may have expired without having been removed yet."""
    accounts: Mapping[str, int]
    hits: int
    new: int
    fallbacks: int
    moved: int
    rejected: int
    """Sessions that were not pinned because the account had its maximum number of pins."""
    evicted: int
    """Pins that were removed because there were too many."""
    merged: int
    """Pins that were taken over from other workers."""
    savings: CacheSavings


class SessionTable:
    """Pins of one worker. All times are of the same clock, in seconds."""

    def __init__(self, settings: AffinitySettings, on_change: Callable[[PinChange], None] | None = None) -> None:
        self._settings = settings
        self.on_change = on_change
        """Called with each change to pass on to other workers; `None` if pins are not shared."""
        # In order of expiry: all pins have the same time to live, and a prolonged one moves to the end.
        self._pins: OrderedDict[str, _Pin] = OrderedDict()
        self._next_expiry_at = math.inf
        """No pin expires before this time."""
        self._counts: dict[str, int] = {}
        # Dropping an account's pins starts a new generation; its pins of former generations are invalid.
        self._generations: dict[str, int] = {}
        self._traffic: LruDict[str, DecayingCounter] = LruDict(MAX_MODEL_GROUPS)
        self._events: Counter[str] = Counter()
        self.savings = CacheSavingsCounter()

    def use(self, settings: AffinitySettings) -> None:
        """Use other settings from now on."""
        self._settings = settings

    def account_of(self, key: SessionKey, now: float) -> str | None:
        """Return the account that a session is pinned to, `None` without a pin. This does not prolong the pin."""
        if key.text not in self._pins:
            return None
        pin = self._valid_pin(key.text, now)
        return pin.account if pin else None

    def fallback_of(self, key: SessionKey, now: float) -> str | None:
        """Return the fallback account that a session has used while its own was unusable; `None` if it has none."""
        pin = self._valid_pin(key.text + FALLBACK_SUFFIX, now)
        return pin.account if pin else None

    def away_for(self, key: SessionKey, now: float) -> float:
        """Return the seconds since the session's first consecutive fallback; 0 if it uses its pinned account."""
        pin = self._valid_pin(key.text, now)
        return max(now - pin.left_at, 0.0) if pin else 0.0

    def record(
        self, key: SessionKey, account: str, now: float, *, is_fallback: bool, is_spread: bool = False
    ) -> SessionOutcome:
        """Record the account that was picked for a request of a session, and return the outcome.

        A session without a pin gets one. A request that followed the pin prolongs it. A fallback (`is_fallback`) keeps
        it, and the next fallback goes to the same account, unless `is_spread` says that the requests behind a shared
        key are to be spread. Otherwise the pin moves. If the account has its maximum number of pins, the session gets
        no pin.
        """
        if self._settings.overload_factor and not key.source.names_a_session:
            self._count_traffic(key.model_group, now)
        pin = self._valid_pin(key.text, now) if key.text in self._pins else None
        if pin and pin.account == account:
            return self._hit(key, pin, now)
        if pin and is_fallback:
            self._events["fallbacks"] += 1
            if not is_spread:
                self._record_fallback(key, pin, account, now)
            return SessionOutcome.FALLBACK
        outcome = SessionOutcome.MOVED if pin else SessionOutcome.NEW
        self._events["moved" if pin else "new"] += 1
        if pin:
            self._remove(key.text)
        if not self.has_room(account, now):
            self._events["rejected"] += 1
            return outcome
        self._pin(key.text, account, now)
        if self.on_change is not None:
            self.on_change(PinChange(key.text, account, replaces=pin is not None))
        return outcome

    def merge(self, key: str, account: str, now: float) -> None:
        """Take over a pin of another worker, even if the account has its maximum number of pins."""
        pin = self._valid_pin(key, now)
        if pin and pin.account == account:
            return
        if pin:
            self._remove(key)
        self._events["merged"] += 1
        self._pin(key, account, now)

    def is_overloaded(self, key: SessionKey, now: float, accounts: int) -> bool:
        """Return whether the recent traffic of a key that many sessions share overloads its account.

        `False` for keys that name a session. Any other key may bring its account `overload_factor` times an equal share
        of the model group's traffic with such keys in about the last minute. The strategy distributes the rest: with
        this much traffic, the prompt is soon in the caches of other accounts as well.
        """
        if key.source.names_a_session or not self._settings.overload_factor:
            return False
        pin = self._valid_pin(key.text, now)
        of_model_group = self._traffic.get(key.model_group)
        if pin is None or pin.traffic is None or of_model_group is None:
            return False
        traffic = pin.traffic.count(now)
        share = self._settings.overload_factor / max(accounts, 1)
        return traffic >= self._settings.overload_min_requests and traffic >= share * of_model_group.count(now)

    def has_room(self, account: str, now: float) -> bool:
        """Return whether an account may have another pin."""
        if now >= self._next_expiry_at:
            self._remove_expired(now)
        return self._counts.get(account, 0) < self._settings.max_sessions_per_account

    def forget_account(self, account: str) -> None:
        """Invalidate all pins of an account, in constant time."""
        if self._counts.pop(account, 0):
            self._generations[account] = self._generations.get(account, 0) + 1

    def counts(self) -> SessionCounts:
        """Return the counters."""
        names = ("hits", "new", "fallbacks", "moved", "rejected", "evicted", "merged")
        events = {name: self._events[name] for name in names}
        accounts = {account: count for account, count in self._counts.items() if count}
        return SessionCounts(sum(accounts.values()), accounts, **events, savings=self.savings.savings())

    def _hit(self, key: SessionKey, pin: _Pin, now: float) -> SessionOutcome:
        self._events["hits"] += 1
        pin.left_at = math.inf
        if not key.source.names_a_session:
            pin.add(now)
        self._prolong(key.text, pin, now)
        return SessionOutcome.HIT

    def _record_fallback(self, key: SessionKey, pin: _Pin, account: str, now: float) -> None:
        """Record the account that a session uses while its own is unusable."""
        pin.left_at = min(pin.left_at, now)
        name = key.text + FALLBACK_SUFFIX
        fallback = self._valid_pin(name, now)
        if fallback and fallback.account == account:
            if not key.source.names_a_session:
                # A key that many sessions share may overload the fallback account as well.
                pin.add(now)
            self._prolong(name, fallback, now)
            return
        if fallback:
            self._remove(name)
        # In a full table, the new fallback would evict the session's own pin if that is the oldest.
        is_last = len(self._pins) >= self._settings.max_sessions and next(iter(self._pins)) == key.text
        if is_last or not self.has_room(account, now):
            return
        self._pin(name, account, now)
        if self.on_change is not None:
            self.on_change(PinChange(name, account, replaces=fallback is not None))

    def _prolong(self, name: str, pin: _Pin, now: float) -> None:
        pin.valid_until = max(pin.valid_until, now + self._settings.ttl)
        self._pins.move_to_end(name)
        if self.on_change is not None and now >= pin.shared_at + self._settings.ttl * RESHARE_TTL_SHARE:
            pin.shared_at = now
            self.on_change(PinChange(name, pin.account, replaces=False))

    def _pin(self, key: str, account: str, now: float) -> None:
        valid_until = now + self._settings.ttl
        pin = _Pin(account, self._generations.get(account, 0), valid_until, now)
        self._next_expiry_at = min(self._next_expiry_at, valid_until)
        # Callers have removed any former pin of the key, so the new one goes to the end.
        self._pins[key] = pin
        self._counts[account] = self._counts.get(account, 0) + 1
        while len(self._pins) > self._settings.max_sessions:
            self._events["evicted"] += self._remove(next(iter(self._pins)))

    def _valid_pin(self, key: str, now: float) -> _Pin | None:
        pin = self._pins.get(key)
        if pin is None or (now < pin.valid_until and pin.generation == self._generations.get(pin.account, 0)):
            return pin
        self._remove(key)
        return None

    def _remove(self, key: str) -> bool:
        """Remove a pin; return whether it was of its account's current generation."""
        pin = self._pins.pop(key)
        is_current = pin.generation == self._generations.get(pin.account, 0)
        if is_current:
            self._counts[pin.account] -= 1
        return is_current

    def _remove_expired(self, now: float) -> None:
        # Bounded, as thousands may expire together after a quiet night, and a request waits for this.
        pins = self._pins
        for _ in range(min(MAX_EXPIRED_PER_CALL, len(pins))):
            key = next(iter(pins))
            self._next_expiry_at = pins[key].valid_until
            if now < self._next_expiry_at:
                return
            self._remove(key)

    def _count_traffic(self, model_group: str, now: float) -> None:
        counter = self._traffic.get(model_group)
        if counter is None:
            counter = DecayingCounter(TRAFFIC_SECONDS)
            self._traffic.put(model_group, counter)
        counter.add(now)


class _Pin:
    __slots__ = ("account", "generation", "left_at", "shared_at", "traffic", "valid_until")

    def __init__(self, account: str, generation: int, valid_until: float, shared_at: float) -> None:
        self.account, self.generation, self.valid_until, self.shared_at = account, generation, valid_until, shared_at
        self.traffic: DecayingCounter | None = None
        self.left_at = math.inf
        """Time of the first consecutive fallback; `inf` while the session uses the account."""

    def add(self, now: float) -> None:
        """Count a request whose session key many sessions may share."""
        self.traffic = self.traffic or DecayingCounter(TRAFFIC_SECONDS)
        self.traffic.add(now)
