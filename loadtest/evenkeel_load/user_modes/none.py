"""No `user` field."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoUser:
    """Requests do not say who they come from."""

    def id_of(self, _user: int, _turn: int) -> None:
        """Return nothing."""
        return
