"""From the choice of an account to the end of the attempt there: what is under way in which task, and how it ended.

LiteLLM makes the attempts of one request one after the other in a task of its own, which ends with the whole answer or
with the stream of one. So an attempt ends with the failure that its hook tells of; with the next choice in the same
task; with the task; and where that leaves a stream, with the event that LiteLLM sends when the stream is over, or when
nobody holds the stream any longer, for there are streams without any event.

Much of this happens in callbacks of the loop, where an error would be nobody's: it is told, and the attempt given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.rotation.answers import Answer, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.affinity import Outcome
    from litellm_evenkeel.rotation.call import Call
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
    call: Call
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

    def streaming(self, attempt: Attempt, headers: Mapping[str, Any] | None) -> None:
        """Know that an answer has begun, and what its provider has said before it."""

    def vanished(self, attempt: Attempt) -> None:
        """Know that nobody will ever tell how it ended."""

    def gave_up(self, attempt: Attempt) -> None:
        """Give back what it holds: of how it ended, an error of ours knows."""


class Attempts:
    """All attempts that are under way, in one event loop."""

    def __init__(self, ends: Ends, errors: Callable[[str, Exception], None]) -> None:
        self._ends, self._errors = ends, errors
        self._running: dict[asyncio.Task[Any], Run] = {}
        self._streams: OrderedDict[Attempt, None] = OrderedDict()

    def run(self, call: Call) -> Run:
        """Return what is known of the request that the current task makes."""
        task = asyncio.current_task()
        assert task is not None
        run = self._running.get(task)
        if run is not None and run.call.is_same(call):
            return run
        if run is None:
            task.add_done_callback(self._done)
        else:
            # A guardrail may ask a model in the very task of a request.
            self.end_last(run)
        run = self._running[task] = Run(call)
        # A stream that broke off is taken up in another task; the event that tells of it may come before or after.
        run.tried = call.broken.union([stream.deployment for stream in call.streams]) if call.streams else call.broken
        return run

    def end_last(self, run: Run) -> None:
        """Know that a request comes again: what it tried last is over, though nobody has said so."""
        if run.current is not None:
            attempt, run.current = run.current, None
            run.tried |= {attempt.deployment}
            self._ends.vanished(attempt)

    def failed(self, deployment: str) -> Attempt | None:
        """Return the attempt of the current task that has failed at a deployment; its end is the caller's to tell."""
        task = asyncio.current_task()
        run = self._running.get(task) if task is not None else None
        if run is None or run.current is None or run.current.deployment != deployment:
            return None
        attempt, run.current = run.current, None
        run.tried |= {deployment}
        return attempt

    def stream_ended(self, call: Call, deployment: str | None) -> Attempt | None:
        """Return the attempt whose stream is over; its end is the caller's to tell."""
        for attempt in call.streams:
            if deployment is None or attempt.deployment == deployment:
                self._forget(attempt)
                return attempt
        return None

    def stream_broke(self, call: Call) -> Attempt | None:
        """Return the attempt whose stream has broken off, the oldest; its end is the caller's to tell."""
        attempt = self.stream_ended(call, None)
        if attempt is not None:
            call.broken |= {attempt.deployment}
        return attempt

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def _done(self, task: asyncio.Task[Any]) -> None:
        run = self._running.pop(task)
        attempt, run.current = run.current, None
        if attempt is not None:
            self._tell(attempt, lambda: self._ended(task, attempt))

    def _ended(self, task: asyncio.Task[Any], attempt: Attempt) -> None:
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
        self._streams[attempt] = None
        attempt.call.streams += (attempt,)
        attempt.call.carry(getattr(stream, "logging_obj", None))
        if len(self._streams) > MOST_STREAMS:
            self._forget(next(iter(self._streams)))
        loop = asyncio.get_running_loop()
        # What takes no weak references tells nobody when it is let go: there is its event, and in the end its lease
        # expires.
        with contextlib.suppress(TypeError):
            weakref.finalize(stream, _soon, loop, weakref.ref(self), attempt).atexit = False
        self._ends.streaming(attempt, answer(stream).headers)

    def _let_go(self, attempt: Attempt) -> None:
        if attempt in self._streams:
            self._forget(attempt)
            self._tell(attempt, lambda: self._ends.vanished(attempt))

    def _tell(self, attempt: Attempt, end: Callable[[], None]) -> None:
        try:
            end()
        except Exception as error:  # noqa: BLE001 - whatever it is, the loop has no use for it
            self._errors("learning from an end", error)
            if attempt not in self._streams:
                self._ends.gave_up(attempt)

    def _forget(self, attempt: Attempt) -> None:
        self._streams.pop(attempt, None)
        attempt.call.streams = tuple([one for one in attempt.call.streams if one is not attempt])


class Run:
    """The attempts of one request."""

    __slots__ = ("call", "current", "tried", "waited")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.current: Attempt | None = None
        self.tried: frozenset[str] = frozenset()
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
