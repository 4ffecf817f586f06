"""Workers that share the slots of one account never have more requests in flight than it allows."""

from __future__ import annotations

import random
from collections import deque
from types import SimpleNamespace

import pytest
from memory_lease_store import MemoryStore

from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import SINGLE_REQUEST
from litellm_evenkeel.rotation.quota_sharing.leased_concurrency import LeasedConcurrency
from litellm_evenkeel.rotation.quota_sharing.protocol import (
    LeaseRequest,
    ScopeRequest,
    SharingMode,
    SlotsGrant,
)
from litellm_evenkeel.rotation.settings import CooldownSettings
from litellm_evenkeel.rotation.state.account_scope import AccountScope
from litellm_evenkeel.rotation.state.cooldown import Cooldown

WORKERS = 3
STEPS = 400


class Worker:
    """A worker whose exchanges with the store take time: each has a request, and later an answer."""

    def __init__(self, name: str, concurrent: int, store: MemoryStore) -> None:
        self.name, self._store = name, store
        self.scope = AccountScope(
            ("a", None), Cooldown(CooldownSettings(), lambda: 0.5), lambda *_: None, lambda _: None
        )
        self.scope.add_deployment(Limits.of({"concurrent": concurrent}, "a"), "", 0.0)
        context = SimpleNamespace(mode=SharingMode(is_local=False, workers=WORKERS), workers=WORKERS)
        self.slots = LeasedConcurrency(self.scope, context)
        self.scope.on_slots_exhausted = self.slots.on_exhausted
        self._answers: deque[SlotsGrant] = deque()

    def begin_request(self, now: float) -> None:
        if self.scope.limit_blocker(SINGLE_REQUEST, now):
            self.scope.request_leases(SINGLE_REQUEST, now)
        else:
            self.scope.reserve(SINGLE_REQUEST, now)

    def end_request(self, now: float) -> None:
        if self.scope.in_flight:
            self.scope.settle(SINGLE_REQUEST, SINGLE_REQUEST, now, now)

    def exchange(self, now: float) -> None:
        """Send a request to the store, or receive the answer to the last one."""
        if self._answers:
            self.slots.apply_grant(self._answers.popleft(), now)
            return
        request = self.slots.build_request(now, confirms=False)
        if request:
            call = LeaseRequest(
                worker=self.name,
                epoch="",
                new_epoch="e",
                gone_seconds=60.0,
                fresh_seconds=60.0,
                grace_period=1.0,
                workers=1,
                rejoins=False,
                leaves=False,
                scopes=(ScopeRequest("a", 60.0, (), request),),
            )
            [grant] = self._store.answer(call).scopes
            assert grant.slots
            self._answers.append(grant.slots)


@pytest.mark.parametrize("concurrent", [1, 2, 4])
def test_workers_never_have_more_requests_in_flight_than_the_account_allows(concurrent: int) -> None:
    for seed in range(100):
        draw = random.Random(seed)
        now, largest_pause = 0.0, draw.choice([0.002, 0.02, 0.1])
        store = MemoryStore(lambda: now)  # noqa: B023 - called in this turn of the loop only
        workers = [Worker(str(number), concurrent, store) for number in range(WORKERS)]
        for _ in range(STEPS):
            now += draw.random() * largest_pause
            worker = draw.choice(workers)
            draw.choice([worker.begin_request, worker.end_request, worker.exchange, worker.exchange])(now)
            assert sum(worker.scope.in_flight for worker in workers) <= concurrent, seed
