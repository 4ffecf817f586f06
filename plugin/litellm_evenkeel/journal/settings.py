"""How the journal is kept, as operators may set it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from litellm_evenkeel.settings_schema.types import Bounds, Period, Seconds, Secret


class StoreKind(StrEnum):
    """What keeps rows."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class SecondStore(StrEnum):
    """What keeps them besides, while they move there."""

    NONE = "none"
    SQLITE = "sqlite"
    POSTGRES = "postgres"

    @property
    def kind(self) -> StoreKind | None:
        """Which kind of a store it is."""
        return None if self is SecondStore.NONE else StoreKind(self.value)


class WriteOrder(StrEnum):
    """How two stores are written."""

    SEQUENTIAL = "sequential"
    """The second gets each batch when the first has kept it."""
    PARALLEL = "parallel"
    """Both get each row at once."""


class Synchronous(StrEnum):
    """When SQLite waits for the disk."""

    NORMAL = "normal"
    """Now and then: a loss of power may take the last rows, a killed process takes none that was written."""
    FULL = "full"
    """After every batch."""


class InsertMethod(StrEnum):
    """How rows come into Postgres."""

    UNNEST = "unnest"
    """One statement with an array for each column."""
    COPY = "copy"
    """Postgres' own way for bulk."""


PositiveCount = Annotated[int, Bounds(1)]

# Before it drains: for so long LiteLLM may go on telling of answers when a worker ends, of two hundred at a time.
FINAL_EVENTS_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class JournalSettings:
    """Where requests are written down, and when."""

    store: StoreKind = StoreKind.SQLITE
    """Where rows are written."""
    path: str = "evenkeel-journal.db"
    """The file of SQLite, which is made where it is missing; its folder has to be there."""
    url: Secret | None = None
    """The address of Postgres; without one, that of LiteLLM's own database. The table is made where it is missing."""
    second: SecondStore = SecondStore.NONE
    """Where rows are written besides, while they move there. Whatever goes wrong there keeps nothing from the first."""
    order: WriteOrder = WriteOrder.SEQUENTIAL
    """How two stores are written: sequential, one after the other, or parallel."""
    synchronous: Synchronous = Synchronous.NORMAL
    """When SQLite waits for the disk: normal, now and then, so that a loss of power may take the last rows, or full,
    after each batch."""
    insert: InsertMethod = InsertMethod.UNNEST
    """How rows come into Postgres: unnest, one statement with arrays, or copy."""
    flush_rows: PositiveCount = 500
    """How many rows are written together at most, and how many that wait are written at once. 1: each by itself."""
    flush_every: Seconds = 0.05
    """For how long a row waits for others to be written with."""
    most_waiting: PositiveCount = 20_000
    """How many rows may wait while a store cannot be written; what comes beyond them is dropped, and counted."""
    busy: Period = 5.0
    """For how long a write waits while another process has the file locked, before it is tried anew."""
    keep: Seconds = 2_592_000.0
    """After how long a row is deleted. 0: never."""
    drain: Seconds = 10.0
    """For how long a worker that ends may go on writing what waits."""
