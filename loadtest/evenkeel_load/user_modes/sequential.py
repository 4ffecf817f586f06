"""1, 2, 3, and so on: ids that come again in every run, as in a test that counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SequentialUser:
    """Each simulated user is its number."""

    def id_of(self, user: int, _turn: int) -> str:
        """Return the number, from 1."""
        return str(user + 1)
