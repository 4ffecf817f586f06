"""User modes: who requests say that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_load.user_modes.base import Mode
from evenkeel_load.user_modes.created import CreatedUser
from evenkeel_load.user_modes.none import NoUser
from evenkeel_load.user_modes.random import RandomUser
from evenkeel_load.user_modes.sequential import SequentialUser

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MODES", "CreatedUser", "Mode", "NoUser", "RandomUser", "SequentialUser"]

MODES: dict[str, Callable[[int, str, int], Mode]] = {
    "none": lambda _seed, _run, _requests: NoUser(),
    "sequential": lambda _seed, _run, _requests: SequentialUser(),
    "random": RandomUser,
    "created": CreatedUser,
}
"""All there are, by name; made from seed, run and requests per user."""
