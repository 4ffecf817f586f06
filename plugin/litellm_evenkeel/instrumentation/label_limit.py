"""A bound on the number of values of a label; names beyond it are collapsed into `other`."""

from __future__ import annotations

OTHER = "other"


class LabelLimiter:
    """Label values of the first `max_names` names.

    A name keeps its value for good, as a series whose label changed would become two series.
    """

    def __init__(self, max_names: int) -> None:
        self._max_names = max_names
        self._known: set[str] = set()

    def bound(self, name: str) -> str:
        """Return `name`, or `other` if there are too many names."""
        if name in self._known:
            return name
        if len(self._known) >= self._max_names:
            return OTHER
        self._known.add(name)
        return name
