"""How many of the requests that one account bears at a time this worker may have under way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.shared.asks import SlotsAsk
from litellm_evenkeel.rotation.shared.ground import IDLE

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.shared.asks import SlotsAnswer
    from litellm_evenkeel.rotation.shared.ground import Standing
    from litellm_evenkeel.rotation.side import Side

# Whoever still lacks one says so again long before.
PATIENCE = 2.0
# After so long, a worker makes do with an equal part if another has none.
TURN = 0.5
# Of those under way, one in so many is kept ready beside them.
SPARE = 4


class Slots:
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
        "side",
    )

    def __init__(self, side: Side, standing: Standing) -> None:
        self.side = side
        self._lacks = self._is_new = self._is_wanted = False
        self._used = self._lacked = self._since = -math.inf
        self._held = 0
        """As the store knows it."""
        self._most = side.concurrent or 0
        side.slots = 0
        if standing.is_local:
            self.alone(standing)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say."""
        return not (self._held or self.side.slots or self.side.in_flight or self._lacks)

    def lack(self) -> None:
        """Know that all are in use."""
        self._lacks = self._is_new = True

    def alone(self, standing: Standing) -> None:
        """Use an equal part of them: each worker can go on with one."""
        if self.side.concurrent is not None:
            self.side.slots = max(self.side.concurrent // standing.workers, 1)

    def close(self) -> None:
        """Begin nothing more."""
        self.side.slots = min(self.side.slots or 0, self.side.in_flight)

    def ask(self, now: float, workers: int, *, is_local: bool, confirms: bool) -> SlotsAsk | None:
        """Return what is to be said to the store, if anything is."""
        side = self.side
        if side.concurrent is None:
            return None
        self._look(now)
        if is_local:
            return SlotsAsk(side.concurrent, side.in_flight, side.in_flight, lacks=False) if confirms else None
        yields = self._is_wanted and bool(self._held) and now >= self._since + TURN
        self._most = side.concurrent // workers if yields else side.concurrent
        spare = 0 if self._is_wanted or now >= self._used + IDLE else max(side.in_flight // SPARE, 1)
        wanted = min(side.in_flight + max(spare, int(self._lacks)), self._most)
        has_too_many = self._held > side.in_flight + 2 * spare
        has_too_few = wanted > (side.slots or 0) and (self._lacks or (side.slots or 0) <= side.in_flight)
        if not (self._lacks or has_too_many or has_too_few or (confirms and self._held)):
            return None
        # What is given back may be another's before the answer is here.
        side.slots = min(side.slots or 0, max(wanted, side.in_flight), self._most)
        return SlotsAsk(side.concurrent, side.in_flight, wanted, lacks=self._lacks)

    def answered(self, ask: SlotsAsk, answer: SlotsAnswer, now: float) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        side = self.side
        if answer.granted and not self._held:
            self._since = now
        self._is_wanted, self._held = answer.is_wanted, answer.granted
        side.slots = min(answer.granted, self._most)
        was_lacking = self._lacks
        if side.slots > ask.in_flight:
            self._lacks = False
        return was_lacking and side.in_flight < side.slots

    def _look(self, now: float) -> None:
        if self._is_new:
            self._lacked, self._is_new = now, False
        elif now >= self._lacked + PATIENCE:
            self._lacks = False
        if self.side.in_flight or self._lacks:
            self._used = now
