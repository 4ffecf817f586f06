"""Names as labels of metrics: so many of them, and one for all others."""

from __future__ import annotations

OTHER = "other"


class LabelLimiter:
    """Who comes first has a label of its own, for good: a series that changes its name is two."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, None] = {}

    def bound(self, name: str) -> str:
        """Return the label of a name."""
        if name in self._known:
            return name
        if len(self._known) >= self._most:
            return OTHER
        self._known[name] = None
        return name
