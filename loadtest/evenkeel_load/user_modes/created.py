"""Ids that the proxy knows, because they were created through it before the load."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel_load.user_modes.base import identity


@dataclass(frozen=True)
class CreatedUser:
    """As random, but each id is a customer of the proxy's."""

    seed: int
    run: str
    requests_per_user: int = 1

    def id_of(self, user: int, turn: int) -> str:
        """Return the id of that turn."""
        return f"created-{identity(self.seed, self.run, user, turn, self.requests_per_user)}"

    def ids(self, users: int, turns: int) -> list[str]:
        """Return all ids that so many users need for so many turns each."""
        return list(dict.fromkeys(self.id_of(user, turn) for user in range(users) for turn in range(turns)))
