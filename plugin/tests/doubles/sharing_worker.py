"""A worker with accounts, and what tests do with several of them that share limits through Redis."""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import time
from typing import TYPE_CHECKING, Self

from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.quota_sharing import CoordinatorSettings, open_coordinator
from litellm_evenkeel.rotation.selection.pick import Pick
from litellm_evenkeel.rotation.settings import RotationSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from litellm_evenkeel.rotation.state.cooldown import HealthState
    from litellm_evenkeel.rotation.state.deployment_state import Reservation

ANCHOR = time.time() - time.monotonic()
WORKERS = 4
DEAD = Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "revoked")


def clock() -> float:
    return ANCHOR + time.monotonic()


class Worker:
    """A worker with accounts of its own making."""

    def __init__(
        self, url: str, prefix: str, accounts: dict[str, Limits], *, credential: str = "", **terms: float
    ) -> None:
        self.coordinator = open_coordinator(
            CoordinatorSettings(url=url, prefix=prefix, **{"settle": 1.0, **terms}), clock
        )
        self.pool = AccountPool(
            RotationSettings(),
            clock=clock,
            random=random.Random(1).random,
            broadcast=self.coordinator.broadcast,
            make_window=self.coordinator.make_window,
            share_slots=self.coordinator.share_slots,
        )
        specs = [
            DeploymentSpec(f"{name}-m", name, "m", limits=limits, credential=credential)
            for name, limits in accounts.items()
        ]
        self.candidates = self.pool.candidate_set("m", specs)
        self.longest = 0.0

    async def __aenter__(self) -> Self:
        await self.coordinator.start(self.pool)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.coordinator.stop()

    def pick(self, tokens: float = 0.0) -> Reservation | None:
        began = time.monotonic()
        found = self.pool.pick(self.candidates, PickRequest(Usage(1, tokens)))
        self.longest = max(self.longest, time.monotonic() - began)
        return found.reservation if isinstance(found, Pick) else None

    async def ask(self, patience: float = 2.0) -> Reservation | None:
        """Ask again and again for a while, as one who waits does."""
        until = clock() + patience
        while clock() < until:
            reservation = self.pick()
            if reservation:
                return reservation
            await asyncio.sleep(0.005)
        return None

    def state(self, account: str) -> HealthState:
        return self.pool.scopes[account, None].cooldown.state(clock())


@contextlib.asynccontextmanager
async def working(
    url: str, accounts: dict[str, Limits], number: int = WORKERS, *, prefix: str = "", **terms: float
) -> AsyncIterator[list[Worker]]:
    prefix = prefix or secrets.token_hex(4)
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Worker(url, prefix, accounts, **terms)) for _ in range(number)]


async def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.002)


def limits(**told: object) -> dict[str, Limits]:
    return {"a": Limits.of(told, "a")}


def most_within(moments: list[float], seconds: float) -> int:
    moments.sort()
    return max(sum(start <= one < start + seconds for one in moments) for start in moments)


async def press(worker: Worker, until_at: float, uses: list[float], pause: float = 0.002) -> None:
    draw = random.Random(id(worker))
    while clock() < until_at:
        reservation = worker.pick()
        if reservation:
            uses.append(clock())
            worker.pool.settle(reservation, Usage(1))
        await asyncio.sleep(draw.random() * 2 * pause)
