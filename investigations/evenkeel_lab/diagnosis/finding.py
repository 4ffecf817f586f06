"""What a check found, and where it puts the blame."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Place(StrEnum):
    """Where something lies."""

    UPSTREAM = "upstream"
    """The provider, and the way there."""
    LOCAL = "local"
    """The proxy, with its database and its Valkey."""
    RIG = "rig"
    """What loads it, what pretends to be its provider, and the machine."""
    NOWHERE = "nowhere"
    """The records do not say."""


class State(StrEnum):
    """What something has to do with how the load fared."""

    BINDS = "binds"
    """It holds the load back: without mending it, nothing else makes much of a difference."""
    COSTS = "costs"
    """It takes its share, or will be next."""
    CLEAR = "clear"
    """It was looked at, and is not the reason."""
    UNTOLD = "untold"
    """What it takes to say so was not recorded; the hint says how to record it."""


class Sure(StrEnum):
    """How far a finding can be trusted."""

    HIGH = "high"
    """Measured, and nothing else explains it."""
    FAIR = "fair"
    """Measured, but something else could explain it."""
    LOW = "low"
    """Estimated, or from few samples."""


@dataclass(frozen=True)
class Finding:
    """One answer: a sentence, what it rests on, how sure it is, and what cures it."""

    check: str
    place: Place
    state: State
    verdict: str
    because: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    """The same, for a program."""
    sure: Sure = Sure.HIGH
    why: str = ""
    """Why it is as sure as that."""
    hint: str = ""


def untold(check: str, place: Place, what: str, *, hint: str) -> Finding:
    """Return that something cannot be said, and how to record what it takes."""
    return Finding(check, place, State.UNTOLD, what, hint=hint)
