"""How workers share."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CoordinatorSettings:
    """All times in seconds."""

    url: str = field(default="", repr=False)
    """The address of a Redis or Valkey, with its password."""
    prefix: str = "evenkeel"
    """How the names of all keys begin."""
    workers: int = 1
    """How many there are, as long as nobody has seen any: where the server never answered, each takes its part."""
    timeout: float = 0.1
    """After so long without an answer, everybody goes on alone."""
    heartbeat: float = 1.0
    gone: float = 3.0
    """A worker that was not heard of for so long is no more, and what it held is free."""
    settle: float = 3.0
    """After the server was gone, it grants nothing for so long: until all have told what they used meanwhile."""
    tick: float = 0.1
    """How often it is seen to that enough is granted, and what is not needed given back."""
