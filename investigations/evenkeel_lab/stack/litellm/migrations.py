"""The database schema: the SQL files of `litellm-proxy-extras`, applied in order, as Prisma would.

The newest migrations of some releases are not on PyPI. Their effect is computed when such a release is installed (see
schema.py), and applied last.

Applied migrations are recorded in Prisma's own table, `_prisma_migrations`. So the lab recognises databases that Prisma
has migrated, and Prisma recognises databases that the lab has migrated.
"""

from __future__ import annotations

import ast
import hashlib
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncpg

from evenkeel_lab.errors import RigFailure, UnsafeDatabase
from evenkeel_lab.stack.servers.postgres import Connection, connect, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEDGER = """
CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id" VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum" VARCHAR(64) NOT NULL,
    "finished_at" TIMESTAMPTZ,
    "migration_name" VARCHAR(255) NOT NULL,
    "logs" TEXT,
    "rolled_back_at" TIMESTAMPTZ,
    "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)
"""
APPLIED = 'SELECT migration_name FROM "_prisma_migrations" WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL'
ENTRY = """
INSERT INTO "_prisma_migrations" (id, checksum, migration_name, finished_at, applied_steps_count)
VALUES ($1, $2, $3, now(), 1)
"""
VIEWS = (
    "LiteLLM_VerificationTokenView",
    "MonthlyGlobalSpend",
    "Last30dKeysBySpend",
    "Last30dModelsBySpend",
    "MonthlyGlobalSpendPerKey",
    "MonthlyGlobalSpendPerUserPerKey",
    "Last30dTopEndUsersSpend",
    "DailyTagSpend",
)
SOME_TABLE = "LiteLLM_VerificationToken"


@dataclass(frozen=True)
class Migration:
    """One SQL migration of the schema."""

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """The checksum that Prisma records."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def released(folder: Path) -> list[Migration]:
    """Return the migrations of a LiteLLM version, in the order of their folders' names."""
    files = sorted(folder.glob("*/migration.sql"), key=lambda path: path.parent.name)
    if not files:
        raise RigFailure(
            f"No migrations in {folder}.", hint="The environment is damaged: evenkeel cache --clear, then again."
        )
    return [Migration(path.parent.name, path.read_text(encoding="utf-8")) for path in files]


def statements(difference: Path) -> str:
    """Return the SQL in the file `difference`; empty if it is missing or has comments only."""
    sql = difference.read_text(encoding="utf-8") if difference.exists() else ""
    return sql if re.sub(r"(?m)^--.*$", "", sql).strip() else ""


def completion(difference: Path, version: str) -> list[Migration]:
    """Return a migration that replaces those that are not on PyPI, or an empty list if none is missing."""
    sql = statements(difference)
    return [Migration(f"evenkeel_schema_of_litellm_{version}", sql)] if sql else []


async def pending(connection: Connection, migrations: list[Migration]) -> list[Migration]:
    """Return the migrations that were not applied. A schema without Prisma's table counts as complete."""
    if await connection.fetchval("SELECT to_regclass('_prisma_migrations')") is None:
        pushed = await connection.fetchval("SELECT to_regclass($1)", f'"{SOME_TABLE}"')
        return [] if pushed else migrations
    applied = {row["migration_name"] for row in await connection.fetch(APPLIED)}
    return [migration for migration in migrations if migration.name not in applied]


async def apply(connection: Connection, migrations: list[Migration]) -> None:
    """Apply migrations, each file in one call.

    So several statements share a transaction, and a single `CREATE INDEX CONCURRENTLY` is outside of transactions.
    """
    await connection.execute(LEDGER)
    for migration in migrations:
        try:
            await connection.execute(migration.sql)
        except asyncpg.PostgresError as error:
            raise RigFailure(
                f"Migration {migration.name} failed: {error}.",
                hint="Try another version of LiteLLM, or an empty database.",
            ) from error
        await connection.execute(ENTRY, str(uuid.uuid4()), migration.checksum, migration.name)


def late_indexes(folder: Path) -> list[str]:
    """Return statements for the indexes that newer versions create outside of migrations.

    LiteLLM creates them from a list of literals in `request_log_indexes.py`. The list is parsed instead of imported,
    because importing it takes seconds.
    """
    source = folder.parent / "request_log_indexes.py"
    if not source.exists():
        return []
    statements = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RequestLogIndex":
            table, name, columns = (ast.literal_eval(argument) for argument in node.args)
            statements.append(f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{name}" ON "{table}" {columns}')
    return statements


async def _refuse_changes(connection: Connection, missing: int) -> None:
    """Raise `UnsafeDatabase` if LiteLLM would change the schema: it always creates missing views at boot."""
    lacking = [f"{missing} of LiteLLM's migrations"] if missing else []
    query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NULL"
    lacking += [f"the view {row[0]}" for row in await connection.fetch(query, VIEWS)]
    if lacking:
        raise UnsafeDatabase(
            f"The database of DATABASE_URL lacks {lacking[0]}{', and more' if len(lacking) > 1 else ''}.",
            hint="Use --allow-migrate to create it, or unset DATABASE_URL to use an embedded database.",
        )


async def require_completed(url: str, completed: list[Migration]) -> None:
    """Raise `UnsafeDatabase` if the user's own database lacks a table that no released migration creates."""
    tables = [table for step in completed for table in re.findall(r'(?m)^CREATE TABLE "(\w+)"', step.sql)]
    connection = await connect(url)
    try:
        query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NULL"
        lacking = [row[0] for row in await connection.fetch(query, tables)]
    finally:
        await connection.close()
    if lacking:
        raise UnsafeDatabase(
            f"The database of DATABASE_URL lacks {lacking[0]}, and PyPI does not have the migration that creates it.",
            hint="Migrate it with that LiteLLM, or unset DATABASE_URL to use an embedded database.",
        )


async def migrate(url: str, folder: Path, *, allowed: bool, completed: Sequence[Migration] = ()) -> int:
    """Apply missing migrations to the database at `url`, and return their number. Raise if they are not `allowed`.

    `completed` are migrations of the lab, after the released ones.
    """
    connection = await connect(url)
    try:
        schema = schema_of(url)
        if schema and allowed:
            await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        missing = await pending(connection, [*released(folder), *completed])
        if not allowed:
            await _refuse_changes(connection, len(missing))
        if missing:
            await apply(connection, missing)
            for statement in late_indexes(folder):
                await connection.execute(statement)
    finally:
        await connection.close()
    return len(missing)
