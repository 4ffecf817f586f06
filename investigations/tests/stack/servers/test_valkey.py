from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.valkey import external_valkey, valkey

if TYPE_CHECKING:
    from pathlib import Path


async def test_valkey_requires_its_password_and_an_external_server_keeps_running(tmp_path: Path) -> None:
    async with stack_folder() as folder, valkey(folder, tmp_path) as server:
        async with Redis.from_url(server.url) as client:
            await client.set("kept", "1")
            async with external_valkey(server.url) as theirs:
                assert theirs.info.pid is None
                assert theirs.info.version == server.info.version
            assert await client.get("kept") == b"1"
        async with Redis.from_url(f"redis://{server.info.address}") as stranger:
            with pytest.raises(AuthenticationError):
                await stranger.get("kept")


async def test_an_unreachable_redis_is_named_without_its_password() -> None:
    with pytest.raises(RigFailure, match=r"127\.0\.0\.1:9") as error:
        await external_valkey("redis://:hush@127.0.0.1:9").__aenter__()
    assert "hush" not in str(error.value)
