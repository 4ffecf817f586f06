"""The two folders of the lab, and their removal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenkeel_lab.errors import DiskFull, RigFailure, WrongUse
from evenkeel_lab.stack.folders import (
    LOG_FOLDERS_KEPT,
    NOBODY,
    cache_folder,
    cache_in_use,
    clear,
    create_once,
    kept,
    log_folder,
    require_room,
    stack_folder,
    traversable,
    turn_to_boot,
)


async def test_a_stack_folder_is_passable_but_not_readable_and_is_removed_afterwards() -> None:
    async with stack_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o711
        (folder / "something").write_text("x")
    assert not folder.exists()


def test_a_stack_folder_is_removed_when_its_process_is_killed() -> None:
    script = """
import asyncio
from evenkeel_lab.stack.folders import stack_folder
async def main():
    async with stack_folder() as folder:
        print(folder, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().decode().strip())
        assert folder.is_dir()
        process.kill()
    deadline = time.monotonic() + 5
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()


async def test_a_stack_folder_is_removed_when_no_process_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr("evenkeel_lab.stack.folders.temporary_parent", lambda _: tmp_path)
    monkeypatch.setattr("subprocess.Popen", fail)
    with pytest.raises(OSError, match="no memory"):
        async with stack_folder():
            pytest.fail("a folder without its cleanup")
    assert list(tmp_path.iterdir()) == []


async def test_a_cache_folder_is_created_by_a_single_process_at_a_time(tmp_path: Path) -> None:
    made = 0

    async def make() -> None:
        nonlocal made
        async with create_once(tmp_path / "env") as empty:
            if empty is not None:
                made += 1
                await asyncio.sleep(0.05)

    await asyncio.gather(*(make() for _ in range(5)))
    assert made == 1


async def test_an_incomplete_cache_folder_is_created_again(tmp_path: Path) -> None:
    async def fail() -> None:
        async with create_once(tmp_path / "env") as empty:
            assert empty is not None
            (empty / "half").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    async with create_once(tmp_path / "env") as empty:
        assert empty is not None
        assert list(empty.iterdir()) == []
    async with create_once(tmp_path / "env") as empty:
        assert empty is None


@pytest.mark.parametrize("cores", [1, 2])
async def test_proxies_that_boot_have_no_more_processes_than_there_are_cores(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    booting, seen = 0, []

    async def boot(workers: int) -> None:
        nonlocal booting
        async with turn_to_boot(workers):
            booting += min(workers, cores)
            seen.append(booting)
            await asyncio.sleep(0.03)
            booting -= min(workers, cores)

    await asyncio.gather(*(boot(workers) for workers in (1, 2, 1, 4, 1)))
    assert max(seen) == cores
    assert len(seen) == 5
    assert kept(own_cache) == [own_cache / "boots"]


async def test_a_boot_that_fails_lets_the_next_one_boot(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with pytest.raises(RigFailure):
        async with turn_to_boot():
            raise RigFailure("It did not answer.", hint="Look.")
    async with asyncio.timeout(1), turn_to_boot():
        pass


def test_the_error_for_a_full_disk_names_the_disk_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match=str(tmp_path)) as error:
        require_room(tmp_path, 10**9)
    assert "TMPDIR" in error.value.hint


def test_a_read_only_cache_is_an_error_of_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(RigFailure, match="Cannot write") as error:
        cache_folder()
    assert not isinstance(error.value, DiskFull)


def test_only_the_newest_log_folders_are_kept(own_cache: Path) -> None:
    for number in range(LOG_FOLDERS_KEPT + 5):
        (own_cache / "logs" / f"2020010{number:03d}").mkdir(parents=True)
    in_use = own_cache / "logs" / f"20100101-000000-{os.getppid()}"
    in_use.mkdir()
    newest = log_folder()
    kept = sorted((own_cache / "logs").iterdir())
    assert len(kept) == LOG_FOLDERS_KEPT + 1
    assert {newest, in_use} <= set(kept)


def test_clearing_the_cache_removes_only_folders_of_the_lab(own_cache: Path) -> None:
    for name in ("subjects/one", "engine-abc", ".ssh", "thesis"):
        (cache_folder() / name).mkdir(parents=True)
    assert [path.name for path in kept(own_cache)] == ["engine-abc", "subjects"]
    assert clear(own_cache) == []
    assert {path.name for path in own_cache.iterdir() if path.is_dir()} == {".ssh", "thesis"}


def test_the_cache_of_a_running_stack_is_not_cleared(own_cache: Path) -> None:
    (cache_folder() / "subjects").mkdir()
    with cache_in_use(), pytest.raises(WrongUse, match="stack is running"):
        clear(own_cache)
    assert clear(own_cache) == []


async def test_waiting_for_another_installation_can_be_interrupted(tmp_path: Path) -> None:
    async def wait() -> None:
        async with create_once(tmp_path / "env"):
            pass

    async with create_once(tmp_path / "env") as empty:
        assert empty is not None
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait(), 0.2)


def test_another_user_cannot_enter_below_a_closed_folder(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    assert not traversable(inner, NOBODY)
    assert traversable(Path("/"), NOBODY)
