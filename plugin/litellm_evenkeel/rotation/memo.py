"""What was read before of something that is written in the same way: of many deployments, most say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")

MOST = 4096


class ParsedSettings(Generic[Value]):
    """Values that never change, by what they were read from; of the plain kinds that YAML and JSON have."""

    def __init__(self, read: Callable[[object, str], Value]) -> None:
        self._read = read
        self._known: dict[str, Value] = {}

    def parse(self, told: object, where: str) -> Value:
        """Read it, if it was not read before; what is wrong is so each time, and `where` is named then."""
        # A text tells 1 from True and from "1", which as keys would be the same or none at all.
        written = repr(told)
        found = self._known.get(written)
        if found is None:
            found = self._read(told, where)
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[written] = found
        return found
