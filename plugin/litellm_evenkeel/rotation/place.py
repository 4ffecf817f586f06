"""A seat that is alive: its account's side, its model's, and how long it takes."""

from __future__ import annotations

import math
from copy import copy
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation.bars import graver
from litellm_evenkeel.rotation.latency import Latency
from litellm_evenkeel.rotation.limit_headers import closed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litellm_evenkeel.rotation.bars import Bar
    from litellm_evenkeel.rotation.group import Group
    from litellm_evenkeel.rotation.lease import Lease
    from litellm_evenkeel.rotation.limit_headers import Reading
    from litellm_evenkeel.rotation.need import Need
    from litellm_evenkeel.rotation.seat import Seat
    from litellm_evenkeel.rotation.side import Side

# A request that has been under way for so many times the usual time, and for so long, tells that its account hangs.
STALLED_TIMES, STALLED_SECONDS = 5.0, 1.0


def is_account_wide(reading: Reading) -> bool:
    """Return whether a limit is a subscription's as a whole: `unified-5h`, but not `unified-7d_opus`."""
    return reading.is_subscription and "_" not in reading.dimension and reading.dimension.count("-") <= 1


class Place:
    """One seat. All times are the same clock's, in seconds."""

    __slots__ = (
        "_bar",
        "_fits",
        "_fits_at",
        "_fits_filled",
        "_shut_opened",
        "_shut_tokens",
        "account",
        "filtered_by",
        "groups",
        "latency",
        "leases",
        "model",
        "seat",
        "shut_until",
        "source",
    )

    def __init__(self, seat: Seat, account: Side, model: Side) -> None:
        self.seat, self.account, self.model = seat, account, model
        self.latency = Latency()
        self.leases: dict[Lease, None] = {}
        """What is under way, the oldest first."""
        self.groups: list[tuple[Group, int]] = []
        """Where it stands."""
        self.source: Mapping[str, Any] | None = None
        """The deployment that its seat was read from, as LiteLLM handed it out."""
        self.filtered_by: tuple[bool, object] = (False, None)
        """Whether that has tags, and its order."""
        self.shut_until = -math.inf
        """Until when looking again is of no use, unless something happens."""
        self._shut_tokens = 0.0
        self._shut_opened = 0
        self._bar: Bar | None = None
        self._fits: Need | None = None
        """For what room was found when it was asked for its pace last, and when."""
        self._fits_at = -math.inf
        self._fits_filled = 0

    @property
    def in_flight(self) -> int:
        """How many requests are under way here."""
        return len(self.leases)

    def twin(self) -> Place:
        """Return one of the same state, to try things with: looking at it leaves no trace here."""
        found = copy(self)
        found.account, found.model = self.account.twin(), self.model.twin()
        if found.account is not self.account or found.model is not self.model:
            # What this worker has not been granted may be there for whoever asks.
            found.forget()
        return found

    def forget(self) -> None:
        """Forget what was found when it was looked at."""
        self.shut_until, self._fits = -math.inf, None

    def bar(self, need: Need, now: float) -> Bar | None:
        """Return what keeps such a request from here now, if anything does."""
        account, model = self.account, self.model
        is_free = account.hold.kind is None and model.hold.kind is None
        is_looked_at = need is self._fits and now == self._fits_at
        if is_looked_at and is_free and self._fits_filled == account.filled + model.filled:
            # A strategy has just looked at all of its limits.
            return None
        is_known = now < self.shut_until and need.tokens >= self._shut_tokens
        if is_known and self._shut_opened == account.opened + model.opened:
            return self._bar
        bar = account.bar(need, now)
        # Most accounts' models have no limits of their own.
        if model.windows or model.concurrent is not None or model.hold.kind is not None:
            bar = model.bar(need, now) if bar is None else graver(bar, model.bar(need, now))
        if bar is not None:
            self.shut_until, self._shut_tokens = bar.opens_at, need.tokens
            self._bar, self._shut_opened = bar, account.opened + model.opened
        return bar

    def is_held(self, now: float) -> bool:
        """Return whether it may not be used, whatever is left of its limits."""
        return self.share(now) <= 0

    def outlook(self, need: Need, now: float) -> Bar | None:
        """Return what keeps such a request from here, wherever it is asked for."""
        return graver(self.account.outlook(need, now), self.model.outlook(need, now))

    def limits_bar(self, need: Need, now: float) -> Bar | None:
        """Return which limit keeps such a request from here, whatever holds it beside."""
        return graver(self.account.limits_bar(need, now), self.model.limits_bar(need, now))

    def learn(self, readings: Sequence[Reading], began: float, now: float) -> None:
        """Believe what the provider says; most limits it has for each model, those of subscriptions for all of them."""
        shut = closed(readings)
        # A window that is used up, and beyond which its provider lets go on, is no obstacle.
        readings = [one for one in readings if one in shut or not (one.is_subscription and one.is_exhausted)]
        account = [one for one in readings if self.account.knows(one) or is_account_wide(one)]
        if account:
            self.account.learn(account, began, now)
        model = [one for one in readings if one not in account]
        if model:
            self.model.learn(model, began, now)

    def share(self, now: float) -> float:
        """Return which share of its traffic it may have: less than all on its way back from a hold."""
        account, model = self.account.hold, self.model.hold
        if account.kind is None and model.kind is None and now >= account.ramped and now >= model.ramped:
            # Nearly always, and asked for each choice.
            return 1.0
        share, of_model = account.share(now), model.share(now)
        return min(share, of_model)

    @property
    def trial_ends(self) -> float:
        """Until when those that need not go here wait for one that has gone to see."""
        return max(self.account.hold.trial_ends, self.model.hold.trial_ends)

    def bears(self, need: Need, now: float) -> float:
        """Return how many such requests it bears in a second; infinite without limits."""
        return min(self.account.bears(need, now), self.model.bears(need, now))

    def stock(self, need: Need, now: float) -> tuple[float, float, float]:
        """Return how many such requests are left here, of how many, and when the first come back; infinite if free."""
        return min(self.account.stock(need, now), self.model.stock(need, now))

    def pace(self, need: Need, now: float) -> float:
        """Return how far it is ahead of an even use of its limits; less while what it was asked last does not end."""
        account, model = self.account, self.model
        pace = account.pace(need, now)
        if model.windows or model.concurrent is not None:
            pace = min(pace, model.pace(need, now))
        # What is lent has a pace by what is left for all: whether any of it may be used here, its lender says.
        is_lent = account.is_lent or model.is_lent or account.slots is not None or model.slots is not None
        if pace > 0 and not is_lent:
            self._fits, self._fits_at = need, now
            self._fits_filled = account.filled + model.filled
        else:
            self._fits = None
        oldest = next(iter(self.leases), None)
        if oldest is None or now - oldest.began <= STALLED_SECONDS:
            return pace
        stalled = self._stalled(now)
        usual = max(self.latency.seconds * STALLED_TIMES, STALLED_SECONDS)
        return pace * usual / stalled if stalled > usual else pace

    def waits(self, now: float) -> float:
        """Return how long a request would wait here: what the latest peak was, for each that stands before it."""
        return max(self.latency.lately(now), self._stalled(now)) * (self.account.in_flight + 1)

    def _stalled(self, now: float) -> float:
        """Return for how long the oldest request is without an answer; streams that have begun take what they want."""
        oldest = next(iter(self.leases), None)
        return 0.0 if oldest is None or oldest.answered is not None else now - oldest.began
