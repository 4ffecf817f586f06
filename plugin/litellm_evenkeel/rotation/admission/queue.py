"""Admission queue: requests wait for capacity, for a bounded time and in fair order."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from litellm_evenkeel.rotation.admission.fair_queue import FairQueue, OfferResult
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.model.request import Probes, Usage
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from litellm_evenkeel.rotation.model.request import PickRequest
    from litellm_evenkeel.rotation.pool.account_pool import AccountPool
    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState

    Matches = Callable[[int, DeploymentState], bool]

MAX_QUEUED = 10_000
# Bounds of the pause between two rounds that nothing triggers.
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.005, 0.5
# After this time, a round pauses so that other tasks can run.
SLICE_SECONDS = 0.004


class AdmissionQueue:
    """The queues of all candidate sets, in one event loop."""

    def __init__(self, pool: AccountPool, errors: Callable[[str, Exception], None]) -> None:
        self._pool, self._errors = pool, errors
        self._queues: dict[CandidateSet, _CandidateQueue] = {}

    def is_queued(self, candidates: CandidateSet) -> bool:
        """Return whether requests wait for a candidate set. A new request must wait behind them."""
        return candidates in self._queues

    def wake(self, candidates: CandidateSet) -> None:
        """Serve the queue of a candidate set soon, as capacity may be available."""
        queue = self._queues.get(candidates)
        if queue is not None:
            queue.serve_soon()

    async def wait(
        self,
        candidates: CandidateSet,
        request: PickRequest,
        seconds: float,
        matches: Matches,
        probes_from: float = -math.inf,
    ) -> Pick | NoCapacity | None:
        """Wait up to `seconds` for a pick. Return `None` if the candidates change during the wait.

        From `probes_from` on, by the pool's clock, the request may be any probe.
        """
        queue = self._queues.get(candidates)
        if queue is None:
            queue = self._queues[candidates] = _CandidateQueue(self._pool, candidates, self._errors)
        if len(queue.requests) >= MAX_QUEUED:
            return queue.no_capacity
        queued = _QueuedRequest(request, matches, probes_from)
        timer = asyncio.get_running_loop().call_later(seconds, queue.time_out, queued)
        queue.requests.add(queued.turn, queued)
        queue.on_added(queued)
        try:
            return await queued.result
        except asyncio.CancelledError:
            result = None if queued.result.cancelled() or not queued.result.done() else queued.result.result()
            if isinstance(result, Pick):
                # The request was served and cancelled at the same time.
                self._pool.release(result.reservation)
            raise
        finally:
            timer.cancel()
            is_unserved = queue.requests.remove(queued.turn, queued)
            if not queue.requests:
                queue.stop()
                if self._queues.get(candidates) is queue:
                    del self._queues[candidates]
            elif is_unserved:
                # The requests behind it may need less capacity.
                queue.serve_soon()

    def lengths(self) -> dict[str, int]:
        """Return the number of queued requests by model group."""
        lengths: dict[str, int] = {}
        for candidates, queue in self._queues.items():
            lengths[candidates.name] = lengths.get(candidates.name, 0) + len(queue.requests)
        return lengths


class _QueuedRequest:
    __slots__ = ("matches", "probes_from", "request", "result", "turn")

    def __init__(self, request: PickRequest, matches: Matches, probes_from: float) -> None:
        self.request, self.matches, self.probes_from = request, matches, probes_from
        # A request that waits for the probes of others has another turn than they, so that it does not block them.
        self.turn: Hashable = (request.client, request.probes is Probes.ANY)
        self.result: asyncio.Future[Pick | NoCapacity | None] = asyncio.get_running_loop().create_future()

    def as_of(self, now: float, *, is_alone: bool) -> PickRequest:
        """Return the request with the probes that it may be now. Alone, it is the only one that can be a probe."""
        if self.request.probes is Probes.ANY:
            return self.request
        if now >= self.probes_from:
            return self.request._replace(probes=Probes.ANY)
        return self.request._replace(probes=Probes.AFTER_COOLDOWN if is_alone else Probes.NONE)


class _CandidateQueue:
    """The queue of one candidate set, which is served in rounds.

    When a request is blocked, requests that need as many tokens or more are skipped in this round; when the smallest
    one is blocked, the round is over. So a round without any pick looks at each candidate only twice.
    """

    def __init__(self, pool: AccountPool, candidates: CandidateSet, errors: Callable[[str, Exception], None]) -> None:
        self._pool, self._candidates, self._errors = pool, candidates, errors
        self.requests: FairQueue[_QueuedRequest] = FairQueue()
        self.no_capacity = NoCapacity(1.0, None)
        """The latest result of a blocked request."""
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._round: Iterator[None] | None = None
        self._is_triggered = False
        """Whether another round follows the current round without a pause."""
        self._available_in = MAX_PAUSE_SECONDS
        self._blocked_tokens = math.inf
        """Requests that need this many tokens or more are blocked for the rest of the round; `inf` if none is."""
        self._is_round_over = False
        """Whether all requests are blocked."""
        self._is_smallest_available = False
        """Whether a candidate was available for the smallest request in this round."""

    def on_added(self, queued: _QueuedRequest) -> None:
        """Serve the queue for a new request, unless a cached result says that it is blocked."""
        no_capacity = self._pool.cached_no_capacity(self._candidates, queued.request)
        if no_capacity is None:
            self.serve_soon()
            return
        self.no_capacity = no_capacity
        if self._timer is None:
            self._schedule_in(no_capacity.available_in)

    def serve_soon(self) -> None:
        """Serve the queue in the next turn of the event loop."""
        self._blocked_tokens, self._is_round_over = math.inf, False
        if not self._is_triggered:
            self._is_triggered = True
            # A round that has begun is ended first, so that every client gets its turn.
            if self._round is None:
                self._schedule(asyncio.get_running_loop().call_soon(self._serve))

    def stop(self) -> None:
        """Cancel the current round and the next one."""
        self._is_triggered, self._round = False, None
        self._schedule(None)

    def time_out(self, queued: _QueuedRequest) -> None:
        """Reject a request whose queue timeout is over."""
        if not queued.result.done():
            queued.result.set_result(self.no_capacity)

    def _serve(self) -> None:
        # The timer that called this is over. A request that is added now has to schedule a new one.
        self._timer = None
        try:
            self._continue_round()
        except Exception as error:  # noqa: BLE001 - no request may wait because of an error of the plugin
            self.stop()
            self._errors("serving the queue", error)
            for queued in self.requests:
                if not queued.result.done():
                    # `None` makes the request look for a candidate itself.
                    queued.result.set_result(None)

    def _continue_round(self) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SLICE_SECONDS
        if self._round is None:
            self._is_triggered = self._is_round_over = self._is_smallest_available = False
            self._blocked_tokens, self._available_in = math.inf, MAX_PAUSE_SECONDS
            self._round = self.requests.serve(self._offer)
        for _ in self._round:
            if self._is_round_over:
                break
            if loop.time() >= ends_at:
                self._schedule(loop.call_soon(self._serve))
                return
        self._round = None
        if self._is_triggered:
            self._schedule(loop.call_soon(self._serve))
        elif self.requests:
            self._schedule_in(self._available_in)

    def _schedule_in(self, seconds: float) -> None:
        pause = min(max(seconds, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)
        self._schedule(asyncio.get_running_loop().call_later(pause, self._serve))

    def _schedule(self, timer: asyncio.TimerHandle | asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _offer(self, queued: _QueuedRequest) -> OfferResult:
        if queued.result.done():
            return OfferResult.GONE
        if queued.request.usage.tokens >= self._blocked_tokens:
            return OfferResult.BLOCKED
        fair_share, now = self._candidates.fair_share, self._pool.now()
        delay = fair_share.delay(queued.request.client, now)
        if delay:
            # There may be no pick that would refresh the snapshot, and with it the shares.
            self._pool.ensure_fresh(self._candidates, now)
            self.no_capacity = NoCapacity(delay, Blocker(BlockReason.FAIR_SHARE, now + delay, ""))
            self._available_in = min(self._available_in, delay)
            return OfferResult.BLOCKED
        request = queued.as_of(now, is_alone=len(self.requests) == 1)
        result = self._pool.pick(self._candidates, request, queued.matches)
        if isinstance(result, NoCapacity):
            self.no_capacity = result
            self._available_in = min(self._available_in, result.available_in)
            self._note_blocked(request)
            return OfferResult.BLOCKED
        fair_share.record_pick(queued.request.client)
        queued.result.set_result(result)
        self._is_smallest_available = False
        return OfferResult.ACCEPTED

    def _note_blocked(self, request: PickRequest) -> None:
        has_account = request.preferred_account is not None or request.fallback_account is not None
        if not (request.excluded or has_account) and request.probes is Probes.ANY:
            # Another request may be blocked where others are not: with excluded candidates, an account, or no probes.
            self._blocked_tokens = min(self._blocked_tokens, request.usage.tokens)
        smallest = min(queued.request.usage.tokens for queued in self.requests.heads())
        if smallest < self._blocked_tokens and not self._is_smallest_available:
            self._is_smallest_available = not self._pool.is_saturated(self._candidates, Usage(tokens=smallest))
            if not self._is_smallest_available:
                self._blocked_tokens = smallest
        self._is_round_over = self._blocked_tokens <= smallest
