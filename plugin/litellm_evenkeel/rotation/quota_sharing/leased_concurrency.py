"""How many of the requests that one account bears at a time this worker may have under way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.quota_sharing.protocol import IDLE_SECONDS, SlotsRequest

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.quota_sharing.protocol import SharingMode, SlotsGrant
    from litellm_evenkeel.rotation.state.account_scope import AccountScope

# Whoever still lacks one says so again long before.
PATIENCE = 2.0
# After so long, a worker makes do with an equal part if another has none.
TURN = 0.5
# Of those under way, one in so many is kept ready beside them.
SPARE = 4


class LeasedConcurrency:
    """The slots of one side."""

    __slots__ = (
        "_held",
        "_is_new",
        "_is_wanted",
        "_lacked",
        "_lacks",
        "_most",
        "_since",
        "_used",
        "scope",
    )

    def __init__(self, scope: AccountScope, mode: SharingMode) -> None:
        self.scope = scope
        self._lacks = self._is_new = self._is_wanted = False
        self._used = self._lacked = self._since = -math.inf
        self._held = 0
        """As the store knows it."""
        self._most = scope.concurrent or 0
        scope.leased_slots = 0
        if mode.is_local:
            self.use_local_share(mode)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say."""
        return not (self._held or self.scope.leased_slots or self.scope.in_flight or self._lacks)

    def on_exhausted(self) -> None:
        """Know that all are in use."""
        self._lacks = self._is_new = True

    def use_local_share(self, mode: SharingMode) -> None:
        """Use an equal part of them: each worker can go on with one."""
        if self.scope.concurrent is not None:
            self.scope.leased_slots = max(self.scope.concurrent // mode.workers, 1)

    def close(self) -> None:
        """Begin nothing more."""
        self.scope.leased_slots = min(self.scope.leased_slots or 0, self.scope.in_flight)

    def build_request(self, now: float, workers: int, *, is_local: bool, confirms: bool) -> SlotsRequest | None:
        """Return what is to be said to the store, if anything is."""
        scope = self.scope
        if scope.concurrent is None:
            return None
        self._look(now)
        if is_local:
            return (
                SlotsRequest(scope.concurrent, scope.in_flight, scope.in_flight, is_waiting=False) if confirms else None
            )
        yields = self._is_wanted and bool(self._held) and now >= self._since + TURN
        self._most = scope.concurrent // workers if yields else scope.concurrent
        spare = 0 if self._is_wanted or now >= self._used + IDLE_SECONDS else max(scope.in_flight // SPARE, 1)
        wanted = min(scope.in_flight + max(spare, int(self._lacks)), self._most)
        has_too_many = self._held > scope.in_flight + 2 * spare
        has_too_few = wanted > (scope.leased_slots or 0) and (
            self._lacks or (scope.leased_slots or 0) <= scope.in_flight
        )
        if not (self._lacks or has_too_many or has_too_few or (confirms and self._held)):
            return None
        # What is given back may be another's before the answer is here.
        scope.leased_slots = min(scope.leased_slots or 0, max(wanted, scope.in_flight), self._most)
        return SlotsRequest(scope.concurrent, scope.in_flight, wanted, is_waiting=self._lacks)

    def apply_grant(self, request: SlotsRequest, grant: SlotsGrant, now: float) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        scope = self.scope
        if grant.granted and not self._held:
            self._since = now
        self._is_wanted, self._held = grant.is_contended, grant.granted
        scope.leased_slots = min(grant.granted, self._most)
        was_lacking = self._lacks
        if scope.leased_slots > request.in_flight:
            self._lacks = False
        return was_lacking and scope.in_flight < scope.leased_slots

    def _look(self, now: float) -> None:
        if self._is_new:
            self._lacked, self._is_new = now, False
        elif now >= self._lacked + PATIENCE:
            self._lacks = False
        if self.scope.in_flight or self._lacks:
            self._used = now
