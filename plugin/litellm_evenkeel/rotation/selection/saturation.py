"""Saturation: the whole candidate set is blocked, so requests need not look at each candidate again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litellm_evenkeel.rotation.model.blocker import Blocker
    from litellm_evenkeel.rotation.model.request import PickRequest, Usage

# Beyond this many freed candidates, the next smaller request looks at all candidates once instead.
MAX_FREED = 32
# A saturated set is looked at again after this long, even if nothing reports that capacity was freed.
REST_SECONDS, REST_SECONDS_PER_CANDIDATE = 1.0, 2e-4


@dataclass(slots=True, eq=False)
class Saturation:
    """A negative cache of one candidate set. All times are by the pool's clock, in seconds.

    While it holds, every candidate is blocked for a request that needs `tokens` or more, but for those in `freed`:
    capacity was freed there since.
    """

    blocker: Blocker | None = None
    """The blocker that ends first; `None` if the set is not saturated."""
    until: float = -math.inf
    tokens: float = 0.0
    freed: set[int] = field(default_factory=set)

    def applies_to(self, request: PickRequest, now: float) -> bool:
        """Return whether it holds for a request. A final try looks at all candidates."""
        is_cached = self.blocker is not None and now < self.until and request.usage.tokens >= self.tokens
        return is_cached and not request.is_final_try and not request.ignores_leases

    def note_saturated(self, blockers: Sequence[Blocker], usage: Usage, now: float) -> None:
        """Record that all candidates are blocked for a request, each by one of `blockers`.

        The end of a blocker that may end at any time is reported. Until then the candidates are looked at again rarely:
        there may be as many such ends as candidates.
        """
        self.blocker = first = min(blockers, key=attrgetter("until"))
        self.tokens = usage.tokens
        timed = min((blocker.until for blocker in blockers if not blocker.may_end_any_time), default=math.inf)
        rest = min(len(blockers) * REST_SECONDS_PER_CANDIDATE, REST_SECONDS)
        self.until = min(timed, max(first.until, now + rest))
        self.freed.clear()

    def note_blocked(self, position: int, blocker: Blocker, usage: Usage) -> None:
        """Record that a candidate is blocked for a request. A smaller request may still use it."""
        if usage.tokens <= self.tokens:
            self.freed.discard(position)
        self.until = min(self.until, blocker.until)

    def note_freed(self, position: int, now: float) -> None:
        """Record that capacity was freed at a candidate."""
        if now < self.until:
            self.freed.add(position)

    def note_too_little_freed(self, usage: Usage) -> None:
        """Record that the freed capacity is too little for a request. It may suffice for a smaller one."""
        if len(self.freed) > MAX_FREED:
            self.tokens = usage.tokens
            self.freed.clear()

    def reopen(self) -> None:
        """Forget that the set was saturated."""
        self.blocker = None
