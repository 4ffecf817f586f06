from __future__ import annotations

import asyncio

import pytest

from litellm_evenkeel.support.timeouts import run_with_timeout


async def test_a_result_in_time_is_returned() -> None:
    assert await run_with_timeout(asyncio.sleep(0, "here"), 5) == "here"


async def test_work_that_ignores_its_cancellation_is_left_behind() -> None:
    is_over = asyncio.Event()

    async def stubborn() -> None:
        while not is_over.is_set():
            try:
                await is_over.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("after the timeout")

    with pytest.raises(TimeoutError):
        await run_with_timeout(stubborn(), 0.01)
    is_over.set()
    await asyncio.sleep(0.01)


async def test_an_error_of_the_work_is_raised() -> None:
    async def fails() -> None:
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await run_with_timeout(fails(), 5)


async def test_the_grace_lets_a_result_in_that_only_waits_for_its_turn() -> None:
    with pytest.raises(TimeoutError):
        await run_with_timeout(asyncio.sleep(0.01, "late"), 0)
    assert await run_with_timeout(asyncio.sleep(0.01, "late"), 0, grace=5) == "late"
