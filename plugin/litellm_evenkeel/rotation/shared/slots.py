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
# Of those under way, one in so many is kept ready beside them.
SPARE = 4


class Slots:
    """The slots of one side."""

    __slots__ = ("_is_new", "_is_wanted", "_lacked", "_lacks", "_used", "side")

    def __init__(self, side: Side, standing: Standing) -> None:
        self.side = side
        self._lacks = self._is_new = self._is_wanted = False
        self._used = self._lacked = -math.inf
        side.slots = 0
        if standing.is_local:
            self.alone(standing)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.side.slots or self.side.in_flight or self._lacks)

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

    def ask(self, now: float, *, is_local: bool, confirms: bool) -> SlotsAsk | None:
        """Return what is to be said to the store, if anything is."""
        side = self.side
        if side.concurrent is None:
            return None
        self._look(now)
        spare = 0 if self._is_wanted or now >= self._used + IDLE else max(side.in_flight // SPARE, 1)
        wanted = min(side.in_flight + max(spare, int(self._lacks)), side.concurrent)
        slots = side.slots or 0
        if is_local:
            return SlotsAsk(side.concurrent, side.in_flight, side.in_flight, lacks=False) if confirms else None
        has_too_many = slots > side.in_flight + 2 * spare
        if not (self._lacks or has_too_many or (confirms and slots) or (spare and slots <= side.in_flight < wanted)):
            return None
        # What is given back may be another's before the answer is here.
        side.slots = max(min(slots, wanted), side.in_flight)
        return SlotsAsk(side.concurrent, side.in_flight, wanted, lacks=self._lacks)

    def answered(self, ask: SlotsAsk, answer: SlotsAnswer) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        side = self.side
        self._is_wanted = answer.is_wanted
        side.slots = answer.granted
        was_lacking = self._lacks
        if answer.granted > ask.in_flight:
            self._lacks = False
        return was_lacking and side.in_flight < answer.granted

    def _look(self, now: float) -> None:
        if self._is_new:
            self._lacked, self._is_new = now, False
        elif now >= self._lacked + PATIENCE:
            self._lacks = False
        if self.side.in_flight or self._lacks:
            self._used = now
