"""Pins in Postgres, in a table of the plugin's schema that is created if it is missing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg

from litellm_evenkeel.support.postgres import SCHEMA, arguments, create_tables

if TYPE_CHECKING:
    from collections.abc import Callable

# Unlogged: pins are written often, and after a crash of the server the accounts' prompt caches are mostly lost anyway.
TABLE = f"{SCHEMA}.pins"
CREATE = f"""
CREATE UNLOGGED TABLE IF NOT EXISTS {TABLE} (
    key text PRIMARY KEY, account text NOT NULL, expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS pins_account ON {TABLE} (account);
CREATE INDEX IF NOT EXISTS pins_expires_at ON {TABLE} (expires_at);
"""
TABLE_EXISTS = f"SELECT to_regclass('{TABLE}') IS NOT NULL"
GET = f"SELECT account FROM {TABLE} WHERE key = $1 AND expires_at > now()"
PUT = f"""
INSERT INTO {TABLE} AS held VALUES ($1, $2, now() + make_interval(secs => $3))
ON CONFLICT (key) DO UPDATE SET account = excluded.account, expires_at = excluded.expires_at
WHERE NOT $4 OR held.account = excluded.account OR held.expires_at <= now()
RETURNING account
"""
DROP = f"DELETE FROM {TABLE} WHERE account = $1"
PRUNE = f"""
DELETE FROM {TABLE} WHERE key IN (
    SELECT key FROM {TABLE} WHERE expires_at <= now() LIMIT 5000 FOR UPDATE SKIP LOCKED
)
"""
PRUNE_INTERVAL_SECONDS = 60.0
STATEMENT_TIMEOUT_SECONDS = 2.0
MAX_CONNECTIONS = 2


class PostgresSessionStore:
    """Pins in the database at `url`, through a few connections of the store's own, opened on first use.

    No statement is prepared under a name and no session parameter is set, so a pooler such as PgBouncer may be used. A
    statement that takes longer than `STATEMENT_TIMEOUT_SECONDS` is cancelled on the server.
    """

    def __init__(self, url: str, clock: Callable[[], float]) -> None:
        self._url, self._clock = url, clock
        self._opening = asyncio.Lock()
        self._pool: Any = None
        self._prune_at = clock() + PRUNE_INTERVAL_SECONDS

    async def get(self, key: str) -> str | None:
        """Return the account that a session is pinned to; `None` without a pin."""
        pool = self._pool or await self._open()
        account = await pool.fetchval(GET, key)
        return None if account is None else str(account)

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        """Pin a session, and return the account that it is pinned to afterwards."""
        pool = self._pool or await self._open()
        pinned = await pool.fetchval(PUT, key, account, float(ttl), only_if_absent)
        if pinned is None:
            # Another worker's pin remains. If it has expired since, the next request creates a new pin.
            pinned = await pool.fetchval(GET, key) or account
        if self._clock() >= self._prune_at:
            self._prune_at = self._clock() + PRUNE_INTERVAL_SECONDS
            await pool.execute(PRUNE)
        return str(pinned)

    async def drop_account(self, account: str) -> None:
        """Forget all pins of an account."""
        pool = self._pool or await self._open()
        await pool.execute(DROP, account)

    async def close(self) -> None:
        """Close the connections."""
        pool, self._pool = self._pool, None
        if pool:
            await pool.close()

    async def _open(self) -> Any:
        async with self._opening:
            if self._pool:
                return self._pool
            pool = await asyncpg.create_pool(
                **arguments(self._url),
                min_size=0,
                max_size=MAX_CONNECTIONS,
                timeout=STATEMENT_TIMEOUT_SECONDS,
                command_timeout=STATEMENT_TIMEOUT_SECONDS,
                statement_cache_size=0,
            )
            try:
                async with pool.acquire() as connection:
                    # Checked first, as a user without the right to create tables may use an existing one.
                    if not await connection.fetchval(TABLE_EXISTS):
                        await create_tables(connection, CREATE)
            except BaseException:
                pool.terminate()
                raise
            self._pool = pool
        return pool
