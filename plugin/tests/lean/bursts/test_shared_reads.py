"""Reads that concurrent callers share: how many there are, and how fresh what they return is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given, strategies as st

from litellm_evenkeel.lean.bursts.shared_reads import SharedReads

if TYPE_CHECKING:
    import pytest


class Value:
    """A value that changes, and takes a while to read."""

    def __init__(self) -> None:
        self.now, self.reads, self.is_broken = 0, 0, False

    async def read(self) -> int:
        self.reads += 1
        seen = self.now
        await asyncio.sleep(0.001)
        if self.is_broken:
            raise ConnectionError("no answer")
        return seen


async def test_a_hundred_callers_cause_two_reads() -> None:
    value, reads = Value(), SharedReads[int]()
    first = asyncio.create_task(reads.read("a", value.read))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert value.reads == 1
    value.now = 7
    others = await asyncio.gather(*(reads.read("a", value.read) for _ in range(99)))
    assert (await first, set(others), value.reads) == (0, {7}, 2)


async def test_keys_are_read_side_by_side() -> None:
    value, reads = Value(), SharedReads[int]()
    await asyncio.gather(*(reads.read(key, value.read) for key in "abc"))
    assert value.reads == 3


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
async def test_no_caller_gets_a_value_of_before_its_call(pauses: list[int]) -> None:
    value, reads = Value(), SharedReads[int]()

    async def call() -> None:
        since = value.now
        assert await reads.read("a", value.read) >= since

    calls = []
    for pause in pauses:
        calls.append(asyncio.create_task(call()))
        for _ in range(pause):
            await asyncio.sleep(0)
        value.now += 1
    await asyncio.gather(*calls)
    assert value.reads <= len(pauses)


async def test_a_cancelled_caller_ends_no_read_of_others() -> None:
    value, reads = Value(), SharedReads[int]()
    first, second = (asyncio.create_task(reads.read("a", value.read)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 0
    assert value.reads == 1


async def test_all_callers_get_the_error_and_later_ones_read_again() -> None:
    value, reads = Value(), SharedReads[int]()
    value.is_broken = True
    results = await asyncio.gather(*(reads.read("a", value.read) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionError] * 3
    value.is_broken = False
    assert await reads.read("a", value.read) == 0


async def test_a_read_that_was_cancelled_is_forgotten() -> None:
    value, reads = Value(), SharedReads[int]()
    before = asyncio.all_tasks()
    call = asyncio.create_task(reads.read("a", value.read))
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - before - {call}:
        task.cancel()
    await asyncio.wait([call])
    assert await reads.read("a", value.read) == 0


async def test_a_read_after_all_callers_left_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    value, reads = Value(), SharedReads[int]()
    value.is_broken = True
    call = asyncio.create_task(reads.read("a", value.read))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.sleep(0.01)
    del call
    assert not caplog.records
