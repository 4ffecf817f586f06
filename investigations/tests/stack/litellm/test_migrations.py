"""Migrations, on a real Postgres, with an invented history that has the traits of LiteLLM's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest
import pytest_asyncio

from evenkeel_lab.errors import RigFailure, UnsafeDatabase
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.litellm.migrations import VIEWS, late_indexes, migrate, released
from evenkeel_lab.stack.servers.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

HISTORY = {
    "20250102_Add a column with spaces in its name": 'ALTER TABLE "LiteLLM_VerificationToken" ADD "b" INT;',
    "20250101_first": 'CREATE TABLE "LiteLLM_VerificationToken" ("a" INT); CREATE TABLE other (c INT);',
    "20250103_index": '-- alone\nCREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "LiteLLM_VerificationToken" ("b");',
}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    for name, sql in HISTORY.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "migration.sql").write_text(sql)
    return tmp_path


@pytest_asyncio.fixture
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Postgres]:
    async with stack_folder() as folder, Postgres(folder, tmp_path_factory.mktemp("logs")) as running:
        yield running


async def columns(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    query = "SELECT column_name FROM information_schema.columns WHERE table_name = 'LiteLLM_VerificationToken'"
    try:
        return sorted(row[0] for row in await connection.fetch(query))
    finally:
        await connection.close()


async def test_migrations_are_applied_in_order_and_once(server: Postgres, history: Path) -> None:
    assert await migrate(server.url, history, allowed=True) == 3
    assert await columns(server.url) == ["a", "b"]
    assert await migrate(server.url, history, allowed=True) == 0


async def test_migrations_use_the_schema_that_prisma_would_use(server: Postgres, history: Path) -> None:
    assert await migrate(f"{server.url}&schema=app", history, allowed=True) == 3
    connection = await asyncpg.connect(server.url)
    query = "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_name = 'LiteLLM_VerificationToken'"
    assert [row[0] for row in await connection.fetch(query)] == ["app"]
    await connection.close()
    assert await migrate(server.url, history, allowed=True) == 3


async def test_missing_views_are_refused_without_permission_to_migrate(server: Postgres, history: Path) -> None:
    await migrate(server.url, history, allowed=True)
    with pytest.raises(UnsafeDatabase, match="lacks the view LiteLLM_VerificationTokenView, and more"):
        await migrate(server.url, history, allowed=False)
    connection = await asyncpg.connect(server.url)
    for view in VIEWS:
        await connection.execute(f'CREATE VIEW "{view}" AS SELECT 1')
    await connection.close()
    assert await migrate(server.url, history, allowed=False) == 0


async def test_a_database_of_the_users_own_is_unchanged_without_permission_to_migrate(
    server: Postgres, history: Path
) -> None:
    with pytest.raises(UnsafeDatabase, match="lacks 3 of LiteLLM's migrations") as error:
        await migrate(server.url, history, allowed=False)
    assert "--allow-migrate" in error.value.hint
    assert await columns(server.url) == []


async def test_a_schema_that_was_pushed_counts_as_complete(server: Postgres, history: Path) -> None:
    connection = await asyncpg.connect(server.url)
    await connection.execute('CREATE TABLE "LiteLLM_VerificationToken" ("a" INT)')
    await connection.close()
    assert await migrate(server.url, history, allowed=True) == 0
    assert await columns(server.url) == ["a"]


async def test_a_failing_migration_is_named_and_earlier_migrations_remain(server: Postgres, history: Path) -> None:
    (history / "20250104_bad").mkdir()
    (history / "20250104_bad" / "migration.sql").write_text("SELECT nonsense;")
    with pytest.raises(RigFailure, match="20250104_bad"):
        await migrate(server.url, history, allowed=True)
    (history / "20250104_bad" / "migration.sql").write_text("SELECT 1;")
    assert await migrate(server.url, history, allowed=True) == 1


def test_the_indexes_that_litellm_builds_later_are_read_from_its_source(history: Path) -> None:
    assert late_indexes(history / "migrations") == []
    (history / "request_log_indexes.py").write_text(
        "import nothing_that_exists\nX: Final = (RequestLogIndex('T', 'T_a_idx', '(\"a\", \"b\")'),)\n"
    )
    assert late_indexes(history / "migrations") == [
        'CREATE INDEX CONCURRENTLY IF NOT EXISTS "T_a_idx" ON "T" ("a", "b")'
    ]


def test_a_folder_without_migrations_is_a_damaged_environment(tmp_path: Path) -> None:
    with pytest.raises(RigFailure, match="No migrations"):
        released(tmp_path)
