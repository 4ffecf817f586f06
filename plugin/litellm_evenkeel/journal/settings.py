"""Settings of the journal, `evenkeel.journal`."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read by annotation
from enum import StrEnum
from typing import ClassVar

from litellm_evenkeel.settings_schema.types import (
    LITELLM,
    Duration,
    PositiveCount,
    PositiveDuration,
    PostgresUrl,
    ServerUrl,
    SettingsModel,
    Text,
)


class StoreKind(StrEnum):
    """Kind of a store."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class SecondStore(StrEnum):
    """Kind of the second store during a migration."""

    NONE = "none"
    SQLITE = "sqlite"
    POSTGRES = "postgres"

    @property
    def kind(self) -> StoreKind | None:
        """Kind of the store, or `None` if there is no second one."""
        return None if self is SecondStore.NONE else StoreKind(self.value)


class Synchronous(StrEnum):
    """SQLite's durability, as in `PRAGMA synchronous`."""

    NORMAL = "normal"
    """Sync to disk at checkpoints. A power loss may lose the last records, a killed process loses no written ones."""
    FULL = "full"
    """Sync to disk after every batch."""


# Time that LiteLLM has to deliver its queued events before the journal of a worker that ends drains. It delivers up to
# two hundred at a time.
FINAL_EVENTS_SECONDS = 10.0


class JournalSettings(SettingsModel):
    """Settings of the journal's stores and of the writer."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "second": "copy_to",
        "flush_every": "flush_interval",
        "flush_rows": "batch_size",
        "most_waiting": "queue_size",
        "keep": "retention",
        "drain": "drain_timeout",
        "busy": "busy_timeout",
    }

    store: StoreKind = StoreKind.SQLITE
    """The store of the journal's records."""
    path: Text = "evenkeel-journal.db"
    """The SQLite file. It is created if it is missing; its folder must exist."""
    url: PostgresUrl = ServerUrl(LITELLM)
    """The Postgres database. The table is created if it is missing."""
    copy_to: SecondStore = SecondStore.NONE
    """A second store that is also written, during a migration to it. Its failures do not affect the first."""
    synchronous: Synchronous = Synchronous.NORMAL
    """When SQLite syncs to disk: normal, at checkpoints, so that a power loss may lose the last records, or full, after
    each batch."""
    batch_size: PositiveCount = 500
    """Maximum number of records of one write. If this number is waiting, they are written without further delay.
    1: each record by itself."""
    flush_interval: Duration = 0.05
    """Maximum time for which a record waits for others, to be written together."""
    queue_size: PositiveCount = 20_000
    """Maximum number of records that wait while a store cannot be written. Further ones are dropped and counted."""
    busy_timeout: PositiveDuration = 5.0
    """Time for which a write waits while another process has locked the file. Then it is retried."""
    retention: Duration = 2_592_000.0
    """Age at which records are deleted. 0: never."""
    drain_timeout: Duration = 10.0
    """Time that a worker which shuts down has to write its waiting records."""
