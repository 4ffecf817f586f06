"""Fair share: the part of scarce capacity that each client may use.

While capacity is plentiful, no client is limited. Capacity is scarce if little of all accounts is left, and if it
would be used up before any of it returns. Then each active client gets an equal rate, so that a client with many
requests does not use up what the others need. Shares are computed again at each snapshot: all clients get what one
leaves unused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from litellm_evenkeel.support.decay import DecayingCounter

# Capacity is scarce from this remaining share on.
SCARCE_SHARE = 0.25
# From this remaining share on, snapshots are rebuilt more often.
LOW_SHARE = 0.5
# Bounds of the time for which the remaining capacity has to last. A quota of hours beside limits of a minute would
# otherwise make all clients wait for hours.
MIN_SECONDS, MAX_SECONDS = 0.1, 60.0
# A client is active if it has sent a request in about this time.
ACTIVE_SECONDS = 20.0
# A client whose decayed number of requests is below this is forgotten.
MIN_ACTIVITY = 0.1
# Every client may use at least this many requests until capacity returns.
MIN_REQUESTS = 2.0
# A client may use the share of this time at once, or `MIN_REQUESTS` if that is more.
BURST_SECONDS = 1.0
# Shares are computed again after this time at the latest.
MAX_DELAY_SECONDS = 1.0
MAX_CLIENTS = 10_000


@dataclass(slots=True)
class RemainingCapacity:
    """Remaining capacity of all accounts, added up."""

    _remaining: float = 0.0
    _total: float = 0.0
    _return_seconds: float = 0.0

    def add(self, remaining: float, total: float, returns_in: float) -> None:
        """Add an account with `remaining` of `total` requests; the first used ones return in `returns_in` seconds."""
        self._remaining += remaining
        self._total += total
        self._return_seconds += total * min(returns_in, MAX_SECONDS) if total < math.inf else 0.0

    def share(self, fair_share: FairShare, now: float) -> bool:
        """Compute the fair shares. Return whether at most `LOW_SHARE` remains."""
        if not 0 < self._total < math.inf:
            fair_share.share(math.inf, math.inf, 1.0, now)
            return False
        fair_share.share(self._remaining, self._total, max(self._return_seconds / self._total, MIN_SECONDS), now)
        return self._remaining <= LOW_SHARE * self._total


@dataclass(slots=True, eq=False)
class FairShare:
    """Shares of the clients of one candidate set. All times are by the pool's clock, in seconds."""

    is_scarce: bool = False
    """Whether capacity is scarce, so that clients are limited to their shares."""
    _clients: dict[str, _Client] = field(default_factory=dict)
    _rate: float = math.inf
    """Requests per second that each client may use; `inf` while capacity is not scarce."""

    def admission_delay(self, client: str, now: float) -> float:
        """Record a request of a client. Return the seconds until its share allows it; 0 if it does now."""
        state = self._clients.get(client)
        if state is None:
            if len(self._clients) >= MAX_CLIENTS:
                # The one that is known for the longest time.
                del self._clients[next(iter(self._clients))]
            state = self._clients[client] = _Client(now)
        state.requests.add(now)
        return state.delay(self._rate, now) if self.is_scarce else 0.0

    def record_pick(self, client: str) -> None:
        """Count a pick against the client's share."""
        state = self._clients.get(client) if self.is_scarce else None
        if state is not None:
            state.allowance -= 1

    def delay(self, client: str, now: float) -> float:
        """Return the seconds until the share of a client allows its next request; 0 if it does now."""
        state = self._clients.get(client) if self.is_scarce else None
        return 0.0 if state is None else state.delay(self._rate, now)

    def share(self, remaining: float, total: float, seconds: float, now: float) -> None:
        """Share `remaining` of `total` requests among the active clients, for `seconds` until capacity returns."""
        self._forget_inactive(now)
        demand = sum(client.requests.count(now) for client in self._clients.values()) / ACTIVE_SECONDS
        is_running_out = remaining <= SCARCE_SHARE * total and demand * seconds > remaining
        self.is_scarce = len(self._clients) > 1 and is_running_out
        self._rate = max(MIN_REQUESTS, remaining / len(self._clients)) / seconds if self.is_scarce else math.inf

    def _forget_inactive(self, now: float) -> None:
        self._clients = {
            name: client for name, client in self._clients.items() if client.requests.count(now) > MIN_ACTIVITY
        }


@dataclass(slots=True)
class _Client:
    """Activity of a client, and a token bucket of the requests that its share allows."""

    _refilled_at: float
    requests: DecayingCounter = field(default_factory=lambda: DecayingCounter(ACTIVE_SECONDS))
    allowance: float = MIN_REQUESTS

    def delay(self, rate: float, now: float) -> float:
        gained = max(now - self._refilled_at, 0.0) * rate
        self.allowance = min(self.allowance + gained, max(MIN_REQUESTS, rate * BURST_SECONDS))
        self._refilled_at = now
        return 0.0 if self.allowance >= 1 else min((1 - self.allowance) / rate, MAX_DELAY_SECONDS)
