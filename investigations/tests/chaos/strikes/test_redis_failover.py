"""A failover of Redis behind a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

from evenkeel_lab.chaos.strikes.redis_failover import taken_over
from evenkeel_lab.chaos.tcp_link import TcpLink
from evenkeel_lab.errors import FaultNotCaused
from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.valkey import valkey, valkey_replica

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_replica_has_the_keys_of_its_master_which_gets_them_back(tmp_path: Path) -> None:
    async with (
        stack_folder() as folder,
        valkey(folder, tmp_path) as master,
        valkey_replica(folder, tmp_path, master) as replica,
        TcpLink(int(master.info.address.rpartition(":")[2])) as link,
        Redis.from_url(master.url) as direct,
        Redis.from_url(link.url(master.url)) as client,
    ):
        await direct.set("before", "1")
        async with taken_over(link, master, replica):
            assert await client.get("before") == b"1"
            await client.set("during", "2")
        assert await direct.get("during") == b"2"
        assert (await direct.info("replication"))["role"] == "master"


async def test_a_failover_that_no_client_meets_proves_nothing(tmp_path: Path) -> None:
    async with (
        stack_folder() as folder,
        valkey(folder, tmp_path) as master,
        valkey_replica(folder, tmp_path, master) as replica,
        TcpLink(int(master.info.address.rpartition(":")[2])) as link,
    ):
        with pytest.raises(FaultNotCaused):
            async with taken_over(link, master, replica):
                pass
