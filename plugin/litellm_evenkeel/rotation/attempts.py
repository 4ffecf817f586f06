"""From the choice of an account to the end of the attempt there: what is under way in which task, and how it ended.

LiteLLM makes the attempts of one request one after the other in a task of its own, which ends with the whole answer or
with the stream of one. So an attempt ends with the failure that its hook tells of; with the next choice in the same
task; with the task; and where that leaves a stream, with the event that LiteLLM sends when the stream is over, or when
nobody holds the stream any longer, for there are streams without any event.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.rotation.answers import Answer, answer

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.affinity import Outcome
    from litellm_evenkeel.rotation.picks import Pick

# A stream that nobody holds may still have its event under way.
EVENT_SECONDS = 2.0
# Streams that never end, neither by an event nor otherwise, are forgotten beyond so many; their leases expire.
MOST_STREAMS = 100_000


@dataclass(slots=True, eq=False)
class Attempt:
    """One request at one account."""

    pick: Pick
    group: str
    call_id: str
    outcome: Outcome | None = None
    """What the choice was to its session, if it has one."""

    @property
    def deployment(self) -> str:
        """The id of the deployment."""
        return self.pick.place.seat.id


class Ends(Protocol):
    """What wants to know how attempts end; each of them ends once."""

    def answered(self, attempt: Attempt, answer: Answer) -> None:
        """Know that an answer came; it may not tell what it used."""

    def streaming(self, attempt: Attempt) -> None:
        """Know that an answer has begun."""

    def vanished(self, attempt: Attempt) -> None:
        """Know that nobody will ever tell how it ended."""


class Attempts:
    """All attempts that are under way, in one event loop."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self._running: dict[asyncio.Task[Any], Run] = {}
        self._streams: OrderedDict[Attempt, None] = OrderedDict()
        self._by_call: dict[str, list[Attempt]] = {}

    def run(self, call_id: str) -> Run:
        """Return what is known of the request that the current task makes."""
        task = asyncio.current_task()
        assert task is not None
        run = self._running.get(task)
        if run is not None and run.call_id == call_id:
            return run
        if run is None:
            task.add_done_callback(self._done)
        else:
            # A guardrail may ask a model in the very task of a request.
            self.end_last(run)
        run = self._running[task] = Run(call_id)
        # A stream that broke off after its first byte is taken up in another task, under the same call id.
        for broken in self._by_call.get(call_id, ()) if call_id else ():
            run.tried.add(broken.deployment)
        return run

    def end_last(self, run: Run) -> None:
        """Know that a request comes again: what it tried last is over, though nobody has said so."""
        if run.current is not None:
            attempt, run.current = run.current, None
            run.tried.add(attempt.deployment)
            self._ends.vanished(attempt)

    def failed(self, deployment: str) -> Attempt | None:
        """Return the attempt of the current task that has failed at a deployment; its end is the caller's to tell."""
        task = asyncio.current_task()
        run = self._running.get(task) if task is not None else None
        if run is None or run.current is None or run.current.deployment != deployment:
            return None
        attempt, run.current = run.current, None
        run.tried.add(deployment)
        return attempt

    def stream_ended(self, call_id: str, deployment: str | None) -> Attempt | None:
        """Return the attempt whose stream is over; its end is the caller's to tell."""
        for attempt in self._by_call.get(call_id, ()):
            if deployment is None or attempt.deployment == deployment:
                self._forget(attempt)
                return attempt
        return None

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def _done(self, task: asyncio.Task[Any]) -> None:
        run = self._running.pop(task)
        attempt, run.current = run.current, None
        if attempt is None:
            return
        if task.cancelled() or task.exception() is not None:
            self._ends.vanished(attempt)
            return
        result = task.result()
        if hasattr(result, "__aiter__"):
            self._is_streaming(attempt, result)
        elif result is None or isinstance(result, str | bytes):
            # It was a task that passes on the chunks of a stream.
            self._ends.vanished(attempt)
        else:
            self._ends.answered(attempt, answer(result))

    def _is_streaming(self, attempt: Attempt, stream: object) -> None:
        self._ends.streaming(attempt)
        self._streams[attempt] = None
        self._by_call.setdefault(attempt.call_id, []).append(attempt)
        if len(self._streams) > MOST_STREAMS:
            self._forget(next(iter(self._streams)))
        loop = asyncio.get_running_loop()
        try:
            weakref.finalize(stream, _soon, loop, weakref.ref(self), attempt).atexit = False
        except TypeError:
            # Nothing tells when it is let go; there is its event, and in the end its lease expires.
            return

    def _let_go(self, attempt: Attempt) -> None:
        if attempt in self._streams:
            self._forget(attempt)
            self._ends.vanished(attempt)

    def _forget(self, attempt: Attempt) -> None:
        self._streams.pop(attempt, None)
        siblings = self._by_call.get(attempt.call_id, [])
        if attempt in siblings:
            siblings.remove(attempt)
        if not siblings:
            self._by_call.pop(attempt.call_id, None)


class Run:
    """The attempts of one request."""

    __slots__ = ("call_id", "current", "tried", "waited")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.current: Attempt | None = None
        self.tried: set[str] = set()
        """The deployments at which it has failed."""
        self.waited = 0.0
        """Seconds that it has waited for accounts, over all attempts."""


def _soon(loop: asyncio.AbstractEventLoop, attempts: weakref.ref[Attempts], attempt: Attempt) -> None:
    """Finalizers run anywhere, in any thread: what is to be done is done in the loop."""

    def later() -> None:
        found = attempts()
        if found is not None:
            loop.call_later(EVENT_SECONDS, found._let_go, attempt)  # noqa: SLF001 - a method of its own class

    if not loop.is_closed():
        loop.call_soon_threadsafe(later)
