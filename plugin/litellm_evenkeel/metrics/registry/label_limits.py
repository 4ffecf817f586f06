"""How many values a label may have: what clients choose could be anything, and each value is a hundred series.

Whoever comes while there is room has series of his own, and keeps them as long as he is heard of now and then. While
all places are taken, others are counted together. So totals stay exact, and nobody is thrown out for one who passes by.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OTHER = "other"
# As LiteLLM writes that there is none, and what is told of too many: these need no place.
NOBODYS = frozenset({"None", "", OTHER})
END_USER, CLIENT_IP, USER_AGENT = "end_user", "client_ip", "user_agent"
USUAL = {END_USER: 100, CLIENT_IP: 100, USER_AGENT: 50}
IDLE_SECONDS = 600.0


class LabelLimits:
    """Which values of which labels are told by themselves."""

    def __init__(
        self,
        clock: Callable[[], float],
        most: Mapping[str, int] | None = None,
        idle: float = IDLE_SECONDS,
        retired: Callable[[str, str], None] = lambda _name, _value: None,
    ) -> None:
        self._clock, self._idle = clock, idle
        self._most = USUAL if most is None else most
        self.retired = retired
        """Who hears that a value has lost its place to another."""
        self._known: dict[str, OrderedDict[Any, float]] = {name: OrderedDict() for name in self._most}
        self.collapsed: Counter[str] = Counter()
        """How often a value was counted with others, by label."""

    def bound(self, name: str, value: Any) -> Any:
        """Return what a label's value is told as: itself, or that it is one of the others."""
        known = self._known.get(name)
        if known is None or value is None or value in NOBODYS:
            return value
        now = self._clock()
        if value in known:
            known.move_to_end(value)
        elif len(known) >= self._most[name] and not self._makes_room(name, known, now):
            self.collapsed[name] += 1
            return OTHER
        known[value] = now
        return value

    def values(self) -> dict[str, int]:
        """Return how many values each label has."""
        return {name: len(known) for name, known in self._known.items()}

    def _makes_room(self, name: str, known: OrderedDict[Any, float], now: float) -> bool:
        if not known:
            return False
        oldest = next(iter(known))
        if now - known[oldest] < self._idle:
            return False
        del known[oldest]
        self.retired(name, oldest)
        return True
