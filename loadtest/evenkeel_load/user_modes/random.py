"""Ids that nobody has ever seen: a proxy looks for them in vain."""

from __future__ import annotations

from dataclasses import dataclass

from evenkeel_load.user_modes.base import identity


@dataclass(frozen=True)
class RandomUser:
    """An id is kept for so many requests of a simulated user; never used again in another run."""

    seed: int
    run: str
    requests_per_user: int = 1

    def id_of(self, user: int, turn: int) -> str:
        """Return the id of that turn."""
        return f"random-{identity(self.seed, self.run, user, turn, self.requests_per_user)}"
