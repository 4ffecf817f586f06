"""User modes: the value of the field `user` of a request, which LiteLLM looks up as an end user."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b


@dataclass(frozen=True)
class UserMode:
    """A user mode. `user` is the number of a simulated user, `turn` the number of its requests before this one."""

    seed: int
    run: str
    requests_per_user: int = 1
    """The number of requests of a simulated user that share an id; 0 means all."""

    def user_id(self, user: int, turn: int) -> str | None:
        """Return the end user's id, or None to leave the field out."""
        raise NotImplementedError

    def digest(self, user: int, turn: int) -> str:
        """Return a digest that is equal for the requests that share an id, and different in each run."""
        period = turn // self.requests_per_user if self.requests_per_user else 0
        return blake2b(f"{self.seed} {self.run} {user} {period}".encode(), digest_size=8).hexdigest()


class NoUser(UserMode):
    """Requests have no field `user`."""

    def user_id(self, user: int, turn: int) -> None:
        """Return None."""


class SequentialUser(UserMode):
    """Each simulated user sends its number, from 1, in every run."""

    def user_id(self, user: int, turn: int) -> str:  # noqa: ARG002
        """Return the number."""
        return str(user + 1)


class RandomUser(UserMode):
    """Each id is new to the proxy, so its lookup finds nothing."""

    def user_id(self, user: int, turn: int) -> str:
        """Return a random id."""
        return f"random-{self.digest(user, turn)}"


class CreatedUser(UserMode):
    """Each id is as random, but is created through the proxy before the load, and deleted after it."""

    def user_id(self, user: int, turn: int) -> str:
        """Return an id that was created."""
        return f"created-{self.digest(user, turn)}"

    def user_ids(self, users: int, turns: int) -> list[str]:
        """Return the ids that `users` simulated users need for `turns` requests each."""
        return list(dict.fromkeys(self.user_id(user, turn) for user in range(users) for turn in range(turns)))


USER_MODES: dict[str, type[UserMode]] = {
    "none": NoUser,
    "sequential": SequentialUser,
    "random": RandomUser,
    "created": CreatedUser,
}
