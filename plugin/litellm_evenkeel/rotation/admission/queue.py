"""Waiting for an account to be free, for a bounded time and in turn."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.admission.fair_queue import FairQueue, OfferResult
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.model.request import Usage
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

    IsThere = Callable[[int, DeploymentState], bool]
    Failed = Callable[[str, Exception], None]

MOST_WAITING = 10_000
# Between two looks that nobody has called for.
SHORTEST, LONGEST = 0.005, 0.5
# For so long it is offered at once; then others have the loop.
TURN_SECONDS = 0.004
# For which share of its time a request may be passed by smaller ones of its client.
PASSED_SHARE = 0.5


class AdmissionQueue:
    """The lines before all groups, in one event loop."""

    def __init__(self, pool: AccountPool, failed: Failed = lambda _where, _error: None) -> None:
        self._pool, self._failed = pool, failed
        self._lines: dict[CandidateSet, _CandidateQueue] = {}

    def is_queued(self, candidates: CandidateSet) -> bool:
        """Return whether somebody waits already: who comes now has its turn among them."""
        return candidates in self._lines

    def wake(self, candidates: CandidateSet) -> None:
        """Know that something may be free now."""
        queue = self._lines.get(candidates)
        if queue is not None:
            queue.serve_soon()

    async def wait(
        self, candidates: CandidateSet, request: PickRequest, client: str, seconds: float, is_there: IsThere
    ) -> Pick | NoCapacity | None:
        """Return what was chosen when it was free in time; None where the candidates have changed meanwhile."""
        queue = self._lines.get(candidates)
        if queue is None:
            queue = self._lines[candidates] = _CandidateQueue(self._pool, candidates, self._failed)
        if len(queue.requests) >= MOST_WAITING:
            return queue.no_capacity
        loop = asyncio.get_running_loop()
        queued = _QueuedRequest(request, client, is_there, loop.time() + seconds * PASSED_SHARE)
        end = loop.call_later(seconds, queue.time_out, queued)
        queue.requests.add(client, queued, request.usage.tokens)
        queue.joined(queued)
        try:
            return await queued.result
        except asyncio.CancelledError:
            found = None if queued.result.cancelled() or not queued.result.done() else queued.result.result()
            if isinstance(found, Pick):
                # It was served in the very moment in which its client left.
                self._pool.release(found.reservation)
            raise
        finally:
            end.cancel()
            is_unserved = queue.requests.remove(client, queued)
            if not queue.requests:
                queue.stop()
                if self._lines.get(candidates) is queue:
                    del self._lines[candidates]
            elif is_unserved:
                # Who stood behind may be served with what was not enough here.
                queue.serve_soon()

    def lengths(self) -> dict[str, int]:
        """Return how many wait for each model group."""
        found: dict[str, int] = {}
        for candidates, queue in self._lines.items():
            found[candidates.name] = found.get(candidates.name, 0) + len(queue.requests)
        return found


class _QueuedRequest:
    __slots__ = ("client", "is_there", "passed_until", "request", "result")

    def __init__(self, request: PickRequest, client: str, is_there: IsThere, passed_until: float) -> None:
        self.request, self.client, self.is_there, self.passed_until = request, client, is_there, passed_until
        self.result: asyncio.Future[Pick | NoCapacity | None] = asyncio.get_running_loop().create_future()


class _CandidateQueue:
    """The line before one group, and when it is looked at next.

    It is offered in rounds, by clients' turns. What was refused to one is offered to no other that needs as much or
    more, and when there is nothing for the smallest of all, the round is over; so a round in vain looks at the accounts
    but once. A request that is too large for what there is keeps its place, and those of its client that need less go
    past it, for half of its time: from then on they stay behind it.
    """

    def __init__(self, pool: AccountPool, candidates: CandidateSet, failed: Failed) -> None:
        self._pool, self._candidates, self._failed = pool, candidates, failed
        self.requests: FairQueue[_QueuedRequest] = FairQueue()
        self.no_capacity = NoCapacity(1.0, None)
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._round: Iterator[None] | None = None
        self._is_soon = False
        self._opens_in = LONGEST
        self._refused = math.inf
        """So many tokens, or more, nobody needs to be offered in this round."""
        self._is_least_open = False
        """Whether there was something for the smallest, when it was looked for last."""

    def joined(self, queued: _QueuedRequest) -> None:
        """Look whether there is something for one who has come, unless it is known that there is not."""
        no_capacity = self._pool.cached_no_capacity(self._candidates, queued.request)
        if no_capacity is None:
            self.serve_soon()
            return
        self.no_capacity = no_capacity
        if self._timer is None:
            self._schedule_in(no_capacity.available_in)

    def serve_soon(self) -> None:
        """Look again when all of this moment has happened."""
        self._refused = math.inf
        if not self._is_soon:
            self._is_soon = True
            # A round that is on its way is ended first: nobody may come off badly because much happens.
            if self._round is None:
                self._schedule(asyncio.get_running_loop().call_soon(self._serve))

    def stop(self) -> None:
        """Look no more by itself."""
        self._is_soon, self._round = False, None
        self._schedule(None)

    def time_out(self, queued: _QueuedRequest) -> None:
        """Tell one that its time is over."""
        if not queued.result.done():
            queued.result.set_result(self.no_capacity)

    def _serve(self) -> None:
        """Give what is free to those whose turn it is, as far as it can be done in a moment."""
        # What has called this is over: who comes next has to be looked for anew.
        self._timer = None
        try:
            self._continue_round()
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody is left to wait for nothing
            self.stop()
            self._failed("serving those who wait", error)
            for queued in self.requests:
                if not queued.result.done():
                    # They look for themselves.
                    queued.result.set_result(None)

    def _continue_round(self) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + TURN_SECONDS
        if self._round is None:
            self._is_soon, self._is_least_open = False, False
            self._refused, self._opens_in = math.inf, LONGEST
            self._round = self.requests.serve(self._offer)
        for _ in self._round:
            if self._refused <= self.requests.least:
                break
            if loop.time() >= ends:
                self._schedule(loop.call_soon(self._serve))
                return
        self._round = None
        if self._is_soon:
            self._schedule(loop.call_soon(self._serve))
        elif self.requests:
            self._schedule_in(self._opens_in)

    def _schedule_in(self, seconds: float) -> None:
        self._schedule(asyncio.get_running_loop().call_later(min(max(seconds, SHORTEST), LONGEST), self._serve))

    def _schedule(self, timer: asyncio.TimerHandle | asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _offer(self, queued: _QueuedRequest) -> OfferResult:
        if queued.result.done():
            return OfferResult.SKIPPED
        if queued.request.usage.tokens >= self._refused:
            return self._waits_on(queued)
        fairness, now = self._candidates.fair_share, self._pool.now()
        pause = fairness.delay(queued.client, now)
        if pause:
            # Nobody may be left who makes a pick, and with it a newer snapshot.
            self._pool.ensure_fresh(self._candidates, now)
            self.no_capacity = NoCapacity(pause, Blocker(BlockReason.FAIR_SHARE, now + pause, ""))
            self._opens_in = min(self._opens_in, pause)
            return OfferResult.BLOCKED
        found = self._pool.pick(self._candidates, queued.request, queued.is_there)
        if isinstance(found, NoCapacity):
            self.no_capacity = found
            self._opens_in = min(self._opens_in, found.available_in)
            self._is_refused(queued.request)
            return self._waits_on(queued)
        fairness.record_pick(queued.client, now)
        queued.result.set_result(found)
        self._is_least_open = False
        return OfferResult.ACCEPTED

    def _is_refused(self, request: PickRequest) -> None:
        if not request.excluded:
            # Who has tried some of them may be refused what others are not.
            self._refused = min(self._refused, request.usage.tokens)
        least = self.requests.least
        if least < self._refused and not self._is_least_open:
            self._is_least_open = not self._pool.is_saturated(self._candidates, Usage(tokens=least))
            if not self._is_least_open:
                self._refused = least

    @staticmethod
    def _waits_on(queued: _QueuedRequest) -> OfferResult:
        is_passed = asyncio.get_running_loop().time() < queued.passed_until
        return OfferResult.SKIPPED if is_passed else OfferResult.BLOCKED
