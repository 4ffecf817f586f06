"""A server with pins never delays or fails a request."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self

import pytest
from memory_session_store import MemorySessionStore

from litellm_evenkeel.rotation.affinity.replicator import FAILURE_THRESHOLD, SessionReplicator
from litellm_evenkeel.rotation.affinity.session_table import PinChange
from litellm_evenkeel.rotation.settings import AffinitySettings

if TYPE_CHECKING:
    from collections.abc import Callable

TERMS = AffinitySettings(ttl=100.0, fetch_timeout=0.02, max_pending_writes=100)


class Fragile(MemorySessionStore):
    """Pins of a server that may be made to fail, or to say nothing."""

    def __init__(self) -> None:
        super().__init__(time.monotonic)
        self.error: Exception | None = None
        self.lets = asyncio.Event()
        self.lets.set()
        self.asked = 0
        self.is_closed = False

    async def get(self, key: str) -> str | None:
        await self._suffer()
        return await super().get(key)

    async def put(self, key: str, account: str, ttl: float, *, only_if_absent: bool) -> str:
        await self._suffer()
        return await super().put(key, account, ttl, only_if_absent=only_if_absent)

    async def drop_account(self, account: str) -> None:
        await self._suffer()
        await super().drop_account(account)

    async def close(self) -> None:
        self.is_closed = True

    async def _suffer(self) -> None:
        self.asked += 1
        await self.lets.wait()
        if self.error:
            raise self.error


class Ground:
    """A worker that shares its pins, on a clock that is moved by hand."""

    def __init__(self, settings: AffinitySettings = TERMS) -> None:
        self.pins, self.adopted, self.now = Fragile(), dict[str, str](), 0.0
        self.replicator = SessionReplicator(self.pins, settings, self.adopted.__setitem__, lambda: self.now)

    async def __aenter__(self) -> Self:
        """Check that the server answers."""
        await self.replicator.fetch("absent")
        await until(lambda: self.replicator.is_available)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.replicator.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.001)


async def test_what_one_puts_another_fetches() -> None:
    async with Ground() as ground:
        ground.replicator.put(PinChange("k", "a", replaces=False))
        await until(lambda: ground.replicator.queued == 0)
        assert await ground.replicator.fetch("k") == "a"
        assert await ground.replicator.fetch("other") is None
        assert (ground.replicator.counts.fetched, ground.replicator.counts.fetch_hits) == (2, 1)


async def test_the_first_to_pin_wins_and_the_other_learns_of_it() -> None:
    async with Ground() as ground:
        await ground.pins.put("k", "a", 100.0, only_if_absent=False)
        ground.replicator.put(PinChange("k", "b", replaces=False))
        await until(lambda: ground.replicator.counts.written == 1)
        assert ground.adopted == {"k": "a"}
        ground.replicator.put(PinChange("k", "b", replaces=True))
        await until(lambda: ground.replicator.counts.written == 2)
        assert await ground.replicator.fetch("k") == "b"


async def test_a_dropped_account_has_no_pins_anywhere_and_none_to_come() -> None:
    async with Ground() as ground:
        await ground.pins.put("old", "a", 100.0, only_if_absent=False)
        ground.replicator.put(PinChange("new", "a", replaces=False))
        ground.replicator.put(PinChange("other", "b", replaces=False))
        ground.replicator.forget_account("a")
        await until(lambda: ground.replicator.queued == 0)
        assert [await ground.replicator.fetch(key) for key in ("old", "new", "other")] == [None, None, "b"]


async def test_no_request_waits_for_a_server_of_which_nothing_is_known() -> None:
    ground = Ground(TERMS.model_copy(update={"fetch_timeout": 1e9}))
    ground.pins.lets.clear()
    assert await ground.replicator.fetch("k") is None
    assert ground.replicator.counts.skipped == 1
    await ground.replicator.close()


async def test_a_silent_server_costs_a_few_requests_a_little_and_the_others_nothing() -> None:
    async with Ground() as ground:
        ground.pins.lets.clear()
        asked = ground.pins.asked
        assert [await ground.replicator.fetch(str(key)) for key in range(50)] == [None] * 50
        assert ground.pins.asked == asked + FAILURE_THRESHOLD
        counts = ground.replicator.counts
        assert (counts.failed, counts.skipped, counts.last_error) == (
            FAILURE_THRESHOLD,
            50 - FAILURE_THRESHOLD + 1,
            "TimeoutError",
        )
        assert not ground.replicator.is_available


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("odd"), TimeoutError()])
async def test_a_failing_server_is_a_miss_and_is_used_again_once_it_answers(error: Exception) -> None:
    async with Ground() as ground:
        await ground.pins.put("k", "a", 100.0, only_if_absent=False)
        ground.pins.error = error
        for _ in range(FAILURE_THRESHOLD + 1):
            assert await ground.replicator.fetch("k") is None
        assert ground.replicator.counts.last_error == type(error).__name__
        # Nothing is read or written before the interval ends; then all pending changes are written.
        ground.replicator.put(PinChange("later", "a", replaces=False))
        ground.pins.error = None
        ground.now = 1e6
        await until(lambda: ground.replicator.queued == 0)
        assert await ground.replicator.fetch("k") == "a"
        assert await ground.replicator.fetch("later") == "a"


async def test_no_more_wait_to_be_written_than_may_and_the_rest_is_counted() -> None:
    async with Ground() as ground:
        ground.pins.lets.clear()
        ground.replicator.put(PinChange("first", "a", replaces=False))
        await until(lambda: ground.replicator.queued == 0)
        for key in range(TERMS.max_pending_writes + 7):
            ground.replicator.put(PinChange(str(key), "a", replaces=False))
        # A newer word on one that waits takes no room.
        ground.replicator.put(PinChange("0", "b", replaces=True))
        ground.replicator.put(PinChange("0", "b", replaces=False))
        counts = ground.replicator.counts
        assert (ground.replicator.queued, counts.dropped) == (TERMS.max_pending_writes, 7)
        ground.pins.lets.set()
        await until(lambda: ground.replicator.queued == 0)
        await until(lambda: ground.replicator.counts.written == TERMS.max_pending_writes + 1)
        assert await ground.replicator.fetch("0") == "b"


async def test_what_cannot_be_written_holds_up_nobody() -> None:
    async with Ground() as ground:
        ground.pins.error = ValueError("no such thing can be written")
        ground.replicator.put(PinChange("bad", "a", replaces=False))
        await until(lambda: ground.replicator.counts.write_failures == 1)
        ground.pins.error = None
        ground.replicator.put(PinChange("good", "a", replaces=False))
        await until(lambda: ground.replicator.counts.written == 1)
        assert await ground.replicator.fetch("good") == "a"


async def test_what_waits_is_written_before_it_closes_and_nothing_after() -> None:
    async with Ground() as ground:
        for key in "abc":
            ground.replicator.put(PinChange(key, "a", replaces=False))
        await ground.replicator.close()
        assert ground.replicator.counts.written == 3
        assert ground.pins.is_closed
        ground.replicator.put(PinChange("d", "a", replaces=False))
        assert await ground.replicator.fetch("a") is None
        assert ground.replicator.counts.dropped == 1


async def test_a_client_that_goes_away_while_it_waits_is_no_failure_of_the_server() -> None:
    async with Ground(TERMS.model_copy(update={"fetch_timeout": 60.0})) as ground:
        ground.pins.lets.clear()
        asking = asyncio.ensure_future(ground.replicator.fetch("k"))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert ground.replicator.counts.failed == 0


async def test_a_driver_that_will_not_be_interrupted_is_not_waited_for() -> None:
    async with Ground() as ground:
        going = asyncio.ensure_future(asyncio.sleep(0.2))
        get = ground.pins.get

        async def stubborn(key: str) -> str | None:
            try:
                return await get(key)
            finally:
                await asyncio.shield(going)

        ground.pins.get = stubborn  # type: ignore[method-assign]
        assert await ground.replicator.fetch("k") is None
        assert not going.done()
        await going
