"""The script in a real Valkey counts as the same arithmetic in Python does, with which it was proved."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from typing import TYPE_CHECKING

import pytest
from memory_lease_store import MemoryStore

from evenkeel_lab.stack.folders import stack_folder
from evenkeel_lab.stack.servers.valkey import valkey
from litellm_evenkeel.rotation.quota_sharing.protocol import (
    LeaseRequest,
    LeaseReturn,
    ProviderReport,
    ScopeRequest,
    SlotsRequest,
    UnleasedUsage,
    WindowRequest,
)
from litellm_evenkeel.rotation.quota_sharing.redis_store import RedisLeaseStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    async with stack_folder() as folder, valkey(folder, tmp_path_factory.mktemp("logs")) as server:
        yield server.url


async def test_the_script_counts_as_it_was_proved(address: str) -> None:
    draw, moment = random.Random(5), 0.0
    store = RedisLeaseStore(address, secrets.token_hex(4), 1.0)
    twin = MemoryStore(lambda: moment)
    for _ in range(300):
        now = time.time()
        asks = []
        for seconds, limit in ((2.0, 40.0), (60.0, 1000.5)):
            width = seconds / 8
            part = int(now / width)
            left = -1.0 if draw.random() < 0.1 else draw.uniform(0, limit)
            told = ProviderReport(left, now - draw.uniform(0, 2), draw.uniform(0.01, 1))
            asks.append(
                WindowRequest(
                    name=f"w/{seconds}",
                    limit=limit,
                    part_seconds=width,
                    parts=8,
                    is_integral=seconds < 10,
                    needed=draw.choice([0.0, 1.0, draw.uniform(0, limit / 3)]),
                    prefetch=draw.choice([0.0, 3.5]),
                    returns=tuple(
                        LeaseReturn(part - 2, part - draw.randint(0, 1), draw.uniform(0, 5)) for _ in range(2)
                    ),
                    unleased=(UnleasedUsage(part - draw.randint(-1, 12), draw.uniform(0, 4)),)
                    if draw.random() < 0.3
                    else (),
                    provider_report=told if draw.random() < 0.2 else None,
                )
            )
        slots = SlotsRequest(5, draw.randint(0, 2), draw.randint(2, 5), is_waiting=draw.random() < 0.5)
        sides = tuple(ScopeRequest(name, 60.0, tuple(asks), slots) for name in ("a", "b/c%20"))
        call = LeaseRequest(
            worker=draw.choice("xyz"),
            epoch=draw.choice(["", "first", "first", "first", "other"]) if draw.random() < 0.02 else "first",
            new_epoch="first",
            gone_seconds=0.2,
            fresh_seconds=0.1,
            grace_period=0.05,
            workers=draw.randint(1, 4),
            rejoins=draw.random() < 0.02,
            leaves=draw.random() < 0.05,
            scopes=sides,
        )
        found = await store.exchange(call)
        moment = found.now
        expected = twin.answer(call)
        assert (found.epoch, found.workers) == (expected.epoch, expected.workers)
        assert found.grants_at == pytest.approx(expected.grants_at)
        assert len(found.scopes) == len(expected.scopes)
        for side, other in zip(found.scopes, expected.scopes, strict=True):
            assert side.slots == other.slots
            for window, twins in zip(side.windows, other.windows, strict=True):
                assert window.part == twins.part
                assert [window.granted, window.left, window.available_in] == pytest.approx(
                    [twins.granted, twins.left, twins.available_in], abs=1e-5
                )
        await asyncio.sleep(draw.choice([0.0, 0.001, 0.03]))
    await store.close()


def rejoining(worker: str) -> LeaseRequest:
    return LeaseRequest(
        worker=worker,
        epoch="e",
        new_epoch="e",
        gone_seconds=0.4,
        fresh_seconds=0.1,
        grace_period=0.3,
        workers=3,
        rejoins=True,
        leaves=False,
        scopes=(),
    )


async def test_nothing_is_granted_until_all_workers_are_back(address: str) -> None:
    store = RedisLeaseStore(address, secrets.token_hex(4), 1.0)
    first = await store.exchange(rejoining("x"))
    assert first.grants_at == pytest.approx(first.now + 0.3)
    await asyncio.sleep(0.1)
    second = await store.exchange(rejoining("y"))
    assert second.grants_at == pytest.approx(second.now + 0.3)
    await asyncio.sleep(0.1)
    assert (await store.exchange(rejoining("z"))).grants_at == second.grants_at
    await store.close()


async def test_a_worker_that_never_comes_back_is_not_awaited_for_long(address: str) -> None:
    store = RedisLeaseStore(address, secrets.token_hex(4), 1.0)
    first = last = await store.exchange(rejoining("x"))
    while last.now < last.grants_at:
        await asyncio.sleep(0.05)
        last = await store.exchange(rejoining("x")._replace(rejoins=False))
    assert last.grants_at <= first.now + 0.4 + 0.3 + 1e-6
    await store.close()
