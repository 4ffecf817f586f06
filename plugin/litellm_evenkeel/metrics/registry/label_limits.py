"""Limits on the number of values of a label: clients can choose any value, and each value takes a hundred series.

The first values get series of their own, and keep them as long as requests with them continue. While a label has as
many values as it may have, further ones are collapsed to `other`. So totals stay exact, and a value that occurs only
once does not displace one in regular use.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OTHER = "other"
# LiteLLM's two forms of an absent value, and the collapsed value: they always have series of their own.
UNLIMITED_VALUES = frozenset({"None", "", OTHER})
END_USER, CLIENT_IP, USER_AGENT = "end_user", "client_ip", "user_agent"
DEFAULT_MAX_VALUES = {END_USER: 100, CLIENT_IP: 100, USER_AGENT: 50}
IDLE_SECONDS = 600.0


class LabelLimits:
    """Values of limited labels that have series of their own."""

    def __init__(
        self,
        clock: Callable[[], float],
        max_values: Mapping[str, int] | None = None,
        idle_seconds: float = IDLE_SECONDS,
        on_retired: Callable[[str, str], None] = lambda _name, _value: None,
    ) -> None:
        self._clock, self._idle_seconds = clock, idle_seconds
        self._max_values = DEFAULT_MAX_VALUES if max_values is None else max_values
        self.on_retired = on_retired
        """Callback for a label's name and a value of it that was replaced by another value."""
        self._known: dict[str, OrderedDict[Any, float]] = {name: OrderedDict() for name in self._max_values}
        self.collapsed: Counter[str] = Counter()
        """Number of times that a value was replaced by `other`, by label."""

    def bound(self, name: str, value: Any) -> Any:
        """Return `value`, or `other` if the label `name` has too many values already."""
        known = self._known.get(name)
        if known is None or value is None or value in UNLIMITED_VALUES:
            return value
        now = self._clock()
        if value in known:
            known.move_to_end(value)
        elif len(known) >= self._max_values[name] and not self._evict_idle(name, known, now):
            self.collapsed[name] += 1
            return OTHER
        known[value] = now
        return value

    def value_counts(self) -> dict[str, int]:
        """Return the number of values with series of their own, by label."""
        return {name: len(known) for name, known in self._known.items()}

    def _evict_idle(self, name: str, known: OrderedDict[Any, float], now: float) -> bool:
        """Evict the value that was unused for the longest time, if it is idle. Return whether one was evicted."""
        if not known:
            return False
        oldest = next(iter(known))
        if now - known[oldest] < self._idle_seconds:
            return False
        del known[oldest]
        self.on_retired(name, oldest)
        return True
