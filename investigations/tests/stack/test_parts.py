"""Parts of a real stack that are killed, suspended and started again, also by another process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import TYPE_CHECKING

import pytest

from evenkeel_lab.errors import ProcessFailed, RigFailure, WrongUse
from evenkeel_lab.stack import control
from evenkeel_lab.stack.control import controlled, running_stack, send
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.parts import Parts
from evenkeel_lab.stack.servers.valkey import server_version, valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.stack.servers.valkey import Valkey


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Valkey]:
    async with stack_folder() as folder, valkey(folder, tmp_path) as running:
        yield running


async def test_a_part_that_was_killed_starts_again_at_its_address(server: Valkey) -> None:
    async with Parts([server.info]) as parts:
        parts.kill("valkey")
        assert await server_version(server.url) is None
        await parts.restart("valkey")
        assert await server_version(server.url)
        (info,) = parts.infos
        assert info.pid != server.info.pid
        await parts.restart("valkey")
        assert await server_version(server.url)
    assert await server_version(server.url) is None


async def test_a_suspended_part_does_not_answer_until_it_is_resumed(server: Valkey) -> None:
    async with Parts([server.info]) as parts:
        parts.suspend("valkey")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server_version(server.url), 0.3)
        parts.resume("valkey")
        assert await server_version(server.url)


async def test_a_part_that_does_not_run_or_exist_is_an_error(server: Valkey) -> None:
    async with Parts([server.info]) as parts:
        parts.stop("valkey")
        assert server.info.child is not None
        await server.info.child.wait()
        with pytest.raises(ProcessFailed, match="valkey does not run"):
            parts.suspend("valkey")
        with pytest.raises(WrongUse, match="no part 'redis'"):
            parts.kill("redis")


async def test_another_process_controls_the_parts(server: Valkey, tmp_path: Path) -> None:
    async with Parts([server.info]) as parts, controlled(parts, tmp_path):
        (row,) = await send(tmp_path, "restart", "valkey")
        assert row["name"] == "valkey"
        assert row["pid"] != server.info.pid
        await send(tmp_path, "kill", "valkey")
        with pytest.raises(WrongUse, match="valkey does not run"):
            await send(tmp_path, "suspend", "valkey")
        with pytest.raises(WrongUse, match="not valid"):
            await send(tmp_path, "explode", "valkey")
        reader, writer = await asyncio.open_unix_connection(tmp_path / control.SOCKET)
        writer.write(b"what?\n")
        assert "error" in json.loads(await reader.readline())
        writer.close()
    with pytest.raises(RigFailure, match="does not answer"):
        await send(tmp_path, "kill", "valkey")


def test_without_a_stack_or_with_several_there_is_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "temporary_parent", lambda _: tmp_path)
    with pytest.raises(WrongUse, match="No stack runs"):
        running_stack()
    with contextlib.ExitStack() as stacks:
        for name in ("evenkeel-a", "evenkeel-b"):
            (tmp_path / name).mkdir()
            listening = stacks.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(tmp_path / name / control.SOCKET))
            listening.listen()
        with pytest.raises(WrongUse, match=r"2 stacks run: .*evenkeel-a"):
            running_stack()
        # The second one is killed, and leaves its socket behind.
        listening.close()
        assert running_stack().name == "evenkeel-a"
