"""The SQL between two Prisma schemas, as Prisma's own engine computes it, applied to a real Postgres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import pytest
import pytest_asyncio

from evenkeel_lab.errors import ProcessFailed, UnsafeDatabase
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.litellm.migrations import completion, migrate, require_completed
from evenkeel_lab.stack.litellm.schema import SOURCE, write_difference
from evenkeel_lab.stack.packages.node import find_node
from evenkeel_lab.stack.servers.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

HEAD = 'datasource client {\n  provider = "postgresql"\n  url = env("DATABASE_URL")\n}\n'
KEYS = "model LiteLLM_VerificationToken {\n  token String @id\n  spend Float @default(0.0)\n"
BEFORE = HEAD + KEYS + "}\n"
AFTER = f"""{HEAD}{KEYS}  alias String?
  @@index([alias, spend(sort: Desc)])
}}
enum State {{
  pending
  applied
}}
model LiteLLM_Delivery {{
  id BigInt @id @default(autoincrement())
  state State @default(pending)
  names String[] @default([])
  content Bytes?
  payload Json
}}
"""
FIRST = """
CREATE TABLE "LiteLLM_VerificationToken" ("token" TEXT PRIMARY KEY, "spend" DOUBLE PRECISION NOT NULL DEFAULT 0.0);
"""


@pytest_asyncio.fixture
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Postgres]:
    async with stack_folder() as folder, Postgres(folder, tmp_path_factory.mktemp("logs")) as running:
        yield running


async def difference(before: str, after: str, folder: Path) -> Path:
    (folder / "before.prisma").write_text(before)
    (folder / "after.prisma").write_text(after)
    sql, log = folder / "difference.sql", folder / "log"
    await write_difference(folder / "before.prisma", folder / "after.prisma", sql, await find_node(log), log)
    return sql


async def columns(url: str) -> dict[tuple[str, str], str]:
    connection = await asyncpg.connect(url)
    query = "SELECT table_name, column_name, udt_name FROM information_schema.columns WHERE table_name LIKE 'LiteLLM%'"
    try:
        return {(row[0], row[1]): row[2] for row in await connection.fetch(query)}
    finally:
        await connection.close()


async def test_released_migrations_are_completed_to_the_schema_of_the_wheel(server: Postgres, tmp_path: Path) -> None:
    history = tmp_path / "migrations"
    (history / "20250101_first").mkdir(parents=True)
    (history / "20250101_first" / "migration.sql").write_text(FIRST)
    completed = completion(await difference(BEFORE, AFTER, tmp_path), "9.9.9")
    assert [one.name for one in completed] == ["evenkeel_schema_of_litellm_9.9.9"]
    with pytest.raises(UnsafeDatabase, match="lacks LiteLLM_Delivery, and PyPI does not have the migration"):
        await require_completed(server.url, completed)
    assert await migrate(server.url, history, allowed=True, completed=completed) == 2
    assert await columns(server.url) == {
        ("LiteLLM_VerificationToken", "token"): "text",
        ("LiteLLM_VerificationToken", "spend"): "float8",
        ("LiteLLM_VerificationToken", "alias"): "text",
        ("LiteLLM_Delivery", "id"): "int8",
        ("LiteLLM_Delivery", "state"): "State",
        ("LiteLLM_Delivery", "names"): "_text",
        ("LiteLLM_Delivery", "content"): "bytea",
        ("LiteLLM_Delivery", "payload"): "jsonb",
    }
    await require_completed(server.url, completed)
    assert await migrate(server.url, history, allowed=True, completed=completed) == 0


async def test_equal_schemas_need_no_migration(tmp_path: Path) -> None:
    assert completion(await difference(AFTER, AFTER + "// a comment\n", tmp_path), "9.9.9") == []


async def test_without_a_difference_there_is_nothing_to_complete(tmp_path: Path) -> None:
    assert completion(tmp_path / "none.sql", "9.9.9") == []


def test_the_npm_lock_contains_hashes_and_no_registry_address() -> None:
    text = (SOURCE / "package-lock.json").read_text()
    assert text.count('"integrity"') == text.count('"node_modules/') > 0
    assert "://" not in text


async def test_an_invalid_schema_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed) as error:
        await difference(BEFORE, HEAD + "model X {\n", tmp_path)
    assert "after.prisma" in error.value.details
