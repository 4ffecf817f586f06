"""What a worker asks of the store that all share, and what it answers. All moments are the store's clock's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

# So many parts more than its own are counted of a window: a grant is good for its part and the next one.
LATER = 2


@dataclass(frozen=True, slots=True)
class Return:
    """What was granted and not used: in the first of these parts, as far as it was there, else in the next."""

    first: int
    last: int
    amount: float


@dataclass(frozen=True, slots=True)
class Debt:
    """What was used without a grant."""

    part: int
    amount: float


@dataclass(frozen=True, slots=True)
class Told:
    """What the provider has said, in answer to a request that began at a moment."""

    left: float
    began: float
    resets_in: float


@dataclass(frozen=True, slots=True)
class WindowAsk:
    """What is wanted of one limit."""

    name: str
    limit: float
    width: float
    """Seconds of one of its parts."""
    parts: int
    is_whole: bool
    """Whether fractions are of no use."""
    demand: float
    """Of which less is of no use."""
    ahead: float
    """Welcome beyond it, if there is plenty."""
    returns: tuple[Return, ...] = ()
    debts: tuple[Debt, ...] = ()
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class SlotsAsk:
    """How many requests a worker has under way at once, and how many it would like to."""

    limit: int
    in_flight: int
    wanted: int
    lacks: bool
    """Whether somebody waits for one."""


@dataclass(frozen=True, slots=True)
class SideAsk:
    """All that is asked of one account, or of one model at it."""

    key: str
    keeps: float
    """For how many seconds it is to be remembered."""
    windows: tuple[WindowAsk, ...]
    slots: SlotsAsk | None


@dataclass(frozen=True, slots=True)
class Call:
    """One question, and a sign of life."""

    worker: str
    epoch: str
    """Of the store as it was known; empty if it never was."""
    new_epoch: str
    """To be the name of a store that has none yet."""
    gone: float
    fresh: float
    """Who was heard of within so many seconds has the store."""
    settle: float
    rejoins: bool
    """Whether this worker has gone on alone."""
    leaves: bool
    sides: tuple[SideAsk, ...]


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """What one has of a limit."""

    part: int
    granted: float
    left: float
    """For anybody."""
    opens_in: float
    """Seconds until there is as much as was wanted, if nobody else takes it; 0 if it was granted."""


@dataclass(frozen=True, slots=True)
class SlotsAnswer:
    """How many may be under way here."""

    granted: int
    is_wanted: bool
    """Whether others lack some."""


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """In the order in which it was asked."""

    windows: tuple[WindowAnswer, ...]
    slots: SlotsAnswer | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the store says."""

    now: float
    epoch: str
    opens: float
    """From when on it grants."""
    workers: int
    """How many were heard of lately."""
    sides: tuple[SideAnswer, ...]
    """Empty if the store is not the one that the worker knew."""


class Store(Protocol):
    """Where it is counted."""

    async def exchange(self, call: Call) -> Reply:
        """Ask, all at once."""

    async def drop(self) -> None:
        """Let go of connections that do not answer."""

    async def close(self) -> None:
        """Let go of the server."""
