"""The database schema: the SQL files of `litellm-proxy-extras`, applied in order, as Prisma would.

The newest migrations of some releases are not on PyPI. What they would bring is computed when such a release is
installed (see schema.py), and applied last.

What was applied is written where Prisma writes it (`_prisma_migrations`), so that a database of the user's own that
Prisma has migrated is recognised, and one that was migrated here is recognised by Prisma.
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
    """One step of the schema's history."""

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """What Prisma would compute for it."""
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
    """Return the SQL that completes a schema; empty if there is none, or if there is nothing to complete."""
    sql = difference.read_text(encoding="utf-8") if difference.exists() else ""
    return sql if re.sub(r"(?m)^--.*$", "", sql).strip() else ""


def completion(difference: Path, version: str) -> list[Migration]:
    """Return the one migration that takes the place of those of a version that cannot be had, if there are such."""
    sql = statements(difference)
    return [Migration(f"evenkeel_schema_of_litellm_{version}", sql)] if sql else []


async def pending(connection: Connection, migrations: list[Migration]) -> list[Migration]:
    """Return those that the database has not seen. A schema that was pushed, without a ledger, counts as complete."""
    if await connection.fetchval("SELECT to_regclass('_prisma_migrations')") is None:
        pushed = await connection.fetchval("SELECT to_regclass($1)", f'"{SOME_TABLE}"')
        return [] if pushed else migrations
    applied = {row["migration_name"] for row in await connection.fetch(APPLIED)}
    return [migration for migration in migrations if migration.name not in applied]


async def apply(connection: Connection, migrations: list[Migration]) -> None:
    """Apply migrations, each file whole.

    Several statements so share a transaction, and a lone `CREATE INDEX CONCURRENTLY` is in none, as it must be.
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
    """Return the statements for the indexes that newer versions keep out of their migrations.

    LiteLLM builds them itself when it migrates itself, from a list of literals in `request_log_indexes.py`. The list
    is read, not imported: importing it costs seconds, because it imports LiteLLM.
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
    """Raise if running LiteLLM on the database would change its schema. It creates its views at boot, come what may."""
    lacking = [f"{missing} of LiteLLM's migrations"] if missing else []
    query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NULL"
    lacking += [f"the view {row[0]}" for row in await connection.fetch(query, VIEWS)]
    if lacking:
        raise UnsafeDatabase(
            f"The database of DATABASE_URL lacks {lacking[0]}{', and more' if len(lacking) > 1 else ''}.",
            hint="Give --allow-migrate to have that created, or unset DATABASE_URL to get an embedded database.",
        )


async def require_completed(url: str, completed: list[Migration]) -> None:
    """Raise if a database of the user's own lacks what no released migration would bring: it gets nothing else."""
    tables = [table for one in completed for table in re.findall(r'(?m)^CREATE TABLE "(\w+)"', one.sql)]
    connection = await connect(url)
    try:
        query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NULL"
        lacking = [row[0] for row in await connection.fetch(query, tables)]
    finally:
        await connection.close()
    if lacking:
        raise UnsafeDatabase(
            f"The database of DATABASE_URL lacks {lacking[0]}, and PyPI lacks the migration that makes it.",
            hint="Let that LiteLLM migrate it itself, or unset DATABASE_URL to get an embedded database.",
        )


async def migrate(url: str, folder: Path, *, allowed: bool, completed: Sequence[Migration] = ()) -> int:
    """Bring a database to the schema of a LiteLLM version, if that is allowed; return how many steps it took.

    `completed` are steps of our own, after the released ones.
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
