"""Cost of a row that is written to Postgres in several ways. Each measurement starts a server."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkeel_lab.bench.journal_store.files import MICROSECONDS, row
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.postgres import Postgres, connect
from litellm_evenkeel.journal.postgres import (
    COLUMN_TYPES,
    CREATE,
    TABLE,
    TIME,
    UNNEST,
    to_datetime,
)
from litellm_evenkeel.journal.record import COLUMNS
from litellm_evenkeel.journal.store import COLUMN_NAMES
from litellm_evenkeel.support.postgres import CREATE_SCHEMA, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SIZE, BATCHES, WARM_UPS = 100, 20, 3
VALUES = ", ".join(f"${number}::{kind}" for number, kind in enumerate(COLUMN_TYPES, 1))
INSERT = f"INSERT INTO {SCHEMA}.{TABLE} ({COLUMN_NAMES}) VALUES ({VALUES})"


def write(seed: int, *, way: str = "unnest", waits: bool = True) -> float:
    """Return the microseconds per row of a batch of a hundred, written in one of `WAYS`.

    `waits`: whether each commit waits for the disk.
    """
    return asyncio.run(_written(seed, way, waits=waits)) * MICROSECONDS


async def _written(seed: int, way: str, *, waits: bool) -> float:
    async with stack_folder() as folder, Postgres(folder, Path(folder)) as server:
        connection = await connect(server.url)
        try:
            await connection.execute(f"SET synchronous_commit = {'on' if waits else 'off'}")
            await connection.execute(f"{CREATE_SCHEMA}; {CREATE}")
            seconds = 0.0
            for batch in range(WARM_UPS + BATCHES):
                records = [row(seed + batch * SIZE + number) for number in range(SIZE)]
                rows = [(*record[:TIME], to_datetime(record.time), *record[TIME + 1 :]) for record in records]
                began = time.perf_counter()
                await WAYS[way](connection, rows)
                if batch >= WARM_UPS:
                    seconds += time.perf_counter() - began
        finally:
            await connection.close()
    return seconds / BATCHES / SIZE


async def _rows(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    for values in rows:
        await connection.execute(INSERT, *values)


async def _rows_together(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    async with connection.transaction():
        await _rows(connection, rows)


async def _executemany(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    await connection.executemany(INSERT, rows)


async def _unnest(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    await connection.execute(UNNEST, *zip(*rows, strict=True))


async def _copy(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    await connection.copy_records_to_table(TABLE, records=rows, columns=COLUMNS, schema_name=SCHEMA)


WAYS: dict[str, Callable[[Any, list[tuple[Any, ...]]], Awaitable[None]]] = {
    "rows": _rows,
    "rows_together": _rows_together,
    "executemany": _executemany,
    "unnest": _unnest,
    "copy": _copy,
}
