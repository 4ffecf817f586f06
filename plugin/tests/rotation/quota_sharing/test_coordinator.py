"""The shared store never delays or fails a request."""

from __future__ import annotations

import asyncio
import logging
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Self

import pytest
from memory_lease_store import MemoryStore

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.providers.failure import FailureKind
from litellm_evenkeel.rotation.inspection.explain import explain
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.quota_sharing import CoordinatorSettings, QuotaCoordinator, open_coordinator
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings
from litellm_evenkeel.rotation.state.cooldown import CooldownUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import CooldownMessage
    from litellm_evenkeel.rotation.quota_sharing.protocol import LeaseRequest, LeaseResponse
    from litellm_evenkeel.rotation.state.deployment_state import Reservation

TERMS = CoordinatorSettings(timeout=0.03, heartbeat=0.05, gone=0.3, settle=0.2, tick=0.01, workers=2)


class Server(MemoryStore):
    """A store that may be made to fail, or to say nothing; words are heard by all."""

    def __init__(self) -> None:
        super().__init__(lambda: time.monotonic() + 1000)
        self.error: Exception | None = None
        self.lets = asyncio.Event()
        self.lets.set()
        self.ears: list[asyncio.Queue[str]] = []
        self.calls: list[LeaseRequest] = []

    async def exchange(self, call: LeaseRequest) -> LeaseResponse:
        await self.lets.wait()
        if self.error:
            raise self.error
        self.calls.append(call)
        return await super().exchange(call)

    async def publish(self, words: Sequence[CooldownMessage]) -> None:
        if self.error:
            raise self.error
        for word in words:
            for ear in self.ears:
                ear.put_nowait(word.text)

    async def history(self) -> list[bytes | str]:
        return []

    async def listen(self) -> AsyncIterator[bytes | str | None]:
        ear = asyncio.Queue[str]()
        self.ears.append(ear)
        yield None
        while True:
            yield await ear.get()


class Worker:
    """One that shares."""

    def __init__(self, server: Server, **told: object) -> None:
        self.freed = 0
        self.coordinator = QuotaCoordinator(server, server, TERMS, clock=time.monotonic)
        self.pool = AccountPool(
            RotationSettings(),
            clock=time.monotonic,
            random=random.Random(1).random,
            broadcast=self.coordinator.broadcast,
            make_window=self.coordinator.make_window,
            share_slots=self.coordinator.share_slots,
            on_capacity=self._count,
        )
        self.candidates = self.pool.candidate_set("m", [DeploymentSpec("a-m", "a", "m", limits=Limits.of(told, "a"))])

    async def __aenter__(self) -> Self:
        await self.coordinator.start(self.pool, wait_seconds=0.5)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.coordinator.stop()

    def pick(self) -> Reservation | None:
        found = self.pool.pick(self.candidates, PickRequest(Usage(1)))
        return found.reservation if isinstance(found, Pick) else None

    async def ask(self) -> Reservation:
        async with asyncio.timeout(10):
            while True:
                reservation = self.pick()
                if reservation:
                    return reservation
                await asyncio.sleep(0.002)

    def _count(self, _: object) -> None:
        self.freed += 1


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.002)


async def test_what_was_not_granted_is_not_used_however_many_there_are_to_choose_from() -> None:
    server = Server()
    async with Worker(server) as one, Worker(server) as other:
        await until(lambda: not (one.coordinator.mode.is_local or other.coordinator.mode.is_local))
        for worker in (one, other):
            specs = [DeploymentSpec(f"{name}-m", name, "m", limits=Limits.of({"rpm": 10}, name)) for name in "ab"]
            worker.candidates = worker.pool.candidate_set("m", specs)
        got = 0
        for _ in range(30):
            for worker in (one, other):
                # As many as there may be at once, before anybody can be asked.
                got += sum(worker.pick() is not None for _ in range(20))
            await asyncio.sleep(0.02)
        assert 10 <= got <= 20


async def test_what_the_pool_has_let_go_is_shared_again_when_it_comes_back() -> None:
    server = Server()
    async with Worker(server, concurrent=2) as worker, Worker(server, concurrent=2) as other:
        worker.pool.release(await worker.ask())
        worker.pool.retire(worker.candidates)
        worker.pool.evict_idle()
        assert not worker.pool.scopes
        await asyncio.sleep(2 * TERMS.heartbeat)
        theirs = await other.ask()
        worker.candidates = worker.pool.candidate_set(
            "m", [DeploymentSpec("b", "a", "m", limits=Limits.of({"concurrent": 2}, "a"))]
        )
        await worker.ask()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await worker.ask()
        other.pool.release(theirs)
        await worker.ask()


async def test_who_is_granted_something_is_told_and_then_nobody_waits() -> None:
    async with Worker(Server(), rpm=600) as worker:
        assert worker.pick() is None
        await until(lambda: worker.freed == 1)
        assert worker.pick()
        for _ in range(5):
            await asyncio.sleep(0.03)
            assert worker.pick()


async def test_a_worker_that_shares_nothing_says_no_more_than_that_it_is_alive() -> None:
    server = Server()
    async with Worker(server):
        await until(lambda: len(server.calls) > 3)
    assert not any(call.scopes for call in server.calls)
    assert server.calls[-1].leaves


@pytest.mark.parametrize("error", [None, OSError("redis://:hush@host"), ValueError("odd"), TimeoutError()])
async def test_a_store_that_fails_or_is_silent_stops_nobody_and_is_used_again(
    error: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server()
    async with Worker(server, rpm=600, concurrent=20) as worker:
        worker.pool.settle(await worker.ask(), Usage(1))
        server.error = error
        if error is None:
            server.lets.clear()
        with caplog.at_level(logging.WARNING):
            await until(lambda: not worker.coordinator.counts().is_connected)
        assert all(worker.pick() for _ in range(20))
        counts = worker.coordinator.counts()
        assert counts.is_local
        assert counts.outages == 1
        assert type(error or TimeoutError()).__name__ in counts.errors
        assert "hush" not in caplog.text
        assert "of every limit" in caplog.text
        server.error = None
        server.lets.set()
        await until(lambda: not worker.coordinator.counts().is_local)
        side = server.sides["a"]
        # The usage of the outage and the requests in flight are reported to it.
        await until(lambda: sum(side.windows["requests/60.0"].parts.values()) >= 21)
        await until(lambda: sum(number for number, _ in side.slots.values()) == 20)
        assert worker.pick() is None


async def test_an_explanation_asks_the_store_for_nothing_and_looks_at_what_is_left_for_all() -> None:
    server = Server()
    async with Worker(server, rpm=600, concurrent=4) as one, Worker(server, rpm=2, concurrent=1) as other:

        def chosen(worker: Worker) -> str | None:
            steps = explain(worker.pool, worker.candidates, PickRequest(), random=random.Random(3).random)
            try:
                next(steps)
            except StopIteration as end:
                return end.value.chosen
            raise AssertionError

        assert [chosen(one), chosen(other)] == ["a", "a"]
        await asyncio.sleep(4 * TERMS.tick)
        assert not any(call.scopes for call in server.calls)
        reservation = await other.ask()
        assert chosen(other) is None
        other.pool.settle(reservation, Usage(1))
        other.pool.settle(await other.ask(), Usage(1))
        assert chosen(other) is None


async def test_a_store_that_has_forgotten_is_told_again() -> None:
    server = Server()
    async with Worker(server, rpm=600) as worker:
        for _ in range(7):
            await worker.ask()
        server.forget()
        await until(lambda: worker.coordinator.counts().is_local)
        assert worker.pick()
        await until(lambda: not worker.coordinator.counts().is_local)
        assert sum(server.sides["a"].windows["requests/60.0"].parts.values()) >= 8


async def test_a_limit_on_concurrency_can_be_removed_and_set_again() -> None:
    server = Server()
    async with Worker(server, concurrent=2) as first, Worker(server, concurrent=2) as second:
        await first.ask()
        for limits in ({}, {"concurrent": 2}):
            for worker in (first, second):
                spec = DeploymentSpec("a-m", "a", "m", limits=Limits.of(limits, "a"))
                worker.candidates = worker.pool.candidate_set("m", [spec])
            if not limits:
                assert all(first.pick() for _ in range(5))
        assert second.pick() is None
        await asyncio.sleep(6 * TERMS.tick)
        assert second.pick() is None


async def test_two_never_have_more_under_way_than_they_may() -> None:
    server = Server()
    async with Worker(server, concurrent=3) as first, Worker(server, concurrent=3) as second:
        reservations = [await first.ask() for _ in range(3)]
        for _ in range(20):
            assert second.pick() is None
            await asyncio.sleep(0.002)
        first.pool.settle(reservations.pop(), Usage(1))
        assert await second.ask()


async def test_what_one_learns_the_other_knows_and_who_tells_does_not_hear_itself() -> None:
    server = Server()
    async with Worker(server) as first, Worker(server) as second:
        await until(lambda: len(server.ears) == 2)
        update = CooldownUpdate("a", None, FailureKind.PERMANENT, "revoked", float("inf"), is_provider_stated=True)
        first.coordinator.broadcast(update)
        await until(lambda: second.pick() is None)
        assert (first.coordinator.counts().published, first.coordinator.counts().received) == (1, 0)
        # Only the pool's own word counts here.
        assert first.pick()
        server.error = OSError()
        first.coordinator.broadcast(CooldownUpdate("a", None, None, "", 0.0, is_provider_stated=True))
        await until(lambda: not first.coordinator.counts().is_connected)
        server.error = None
        await until(lambda: second.pick() is not None)


async def test_a_release_frees_all_models_of_an_account() -> None:
    server = Server()
    async with Worker(server) as first, Worker(server) as second:
        await until(lambda: len(server.ears) == 2)
        first.coordinator.broadcast(
            CooldownUpdate("a", "m", FailureKind.PERMANENT, "gone", float("inf"), is_provider_stated=True)
        )
        await until(lambda: second.pick() is None)
        assert first.pool.release_account("a")
        await until(lambda: second.pick() is not None)


async def test_it_may_be_stopped_before_it_was_started_and_leaves_nothing_behind() -> None:
    before = asyncio.all_tasks()
    server = Server()
    server.lets.clear()
    await Worker(server).coordinator.stop()
    worker = Worker(server, rpm=10)
    await worker.coordinator.start(worker.pool, wait_seconds=0.05)
    assert not worker.coordinator.counts().is_connected
    assert sum(worker.pick() is not None for _ in range(10)) == 5
    await worker.coordinator.stop()
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}  # type: ignore[arg-type]


def test_sharing_without_an_address_is_refused_and_a_secret_is_not_shown() -> None:
    with pytest.raises(SettingsError, match=r"shared\.url"):
        open_coordinator(CoordinatorSettings(), time.monotonic)
    assert "hush" not in repr(CoordinatorSettings(url="redis://:hush@127.0.0.1:1"))


def test_the_pool_does_not_import_what_shares_it() -> None:
    code = (
        "import sys, litellm_evenkeel.rotation.pool.account_pool; "
        "sys.exit('redis' in sys.modules or 'asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
