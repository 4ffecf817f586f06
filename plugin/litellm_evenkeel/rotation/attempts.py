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
from typing import TYPE_CHECKING, Any, Protocol, Self

from litellm_evenkeel.providers.response_usage import ResponseUsage, usage_of_response
from litellm_evenkeel.routing_decision import REQUEST_KEY, RoutingDecision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from litellm_evenkeel.rotation.affinity.cache_savings import SessionOutcome
    from litellm_evenkeel.rotation.selection.pick import Pick


class ClientRequest:
    """One request of a client, with all its attempts."""

    __slots__ = ("broken", "name", "picked", "streams")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        """What tells it from others where no logging object does: outside of a proxy."""
        self.picked: RoutingDecision | None = None
        """Where it was sent last."""
        self.streams: tuple[Attempt, ...] = ()
        """Those of its streams that are open, the oldest first."""
        self.broken: frozenset[str] = frozenset()
        """The deployments whose streams have broken off."""

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> ClientRequest:
        """Return the call that a request is an attempt of."""
        details = getattr(request.get("litellm_logging_obj"), "model_call_details", None)
        if details is None:
            return cls(str(request.get("litellm_call_id") or request.get("litellm_trace_id") or ""))
        found = cls.from_event(details)
        if found is None:
            found = details[REQUEST_KEY] = cls()
        return found

    def record_pick(self, account: str, reason: str) -> None:
        """Know of another attempt."""
        self.picked = RoutingDecision(account, reason, 1 if self.picked is None else self.picked.attempt + 1)

    @staticmethod
    def from_event(details: Mapping[str, Any]) -> ClientRequest | None:
        """Return the call that an event tells of."""
        found = details.get(REQUEST_KEY)
        return found if isinstance(found, ClientRequest) else None

    def attach_to(self, logging_object: object) -> None:
        """Have it told by the events of a logging object that was made later, for one attempt."""
        details = getattr(logging_object, "model_call_details", None)
        if details is not None:
            details.setdefault(REQUEST_KEY, self)

    def is_same(self, other: ClientRequest) -> bool:
        """Return whether it is the same request."""
        return self is other or (self.name is not None and self.name == other.name)

    def __deepcopy__(self, _: object) -> Self:
        """Stay what it is: LiteLLM copies what it logs."""
        return self


# A stream that nobody holds may still have its event under way.
STREAM_EVENT_GRACE_SECONDS = 2.0
# Streams that never end, neither by an event nor otherwise, are forgotten beyond so many; their leases expire.
MAX_STREAMS = 100_000


@dataclass(slots=True, eq=False)
class Attempt:
    """One request at one account."""

    pick: Pick
    model_group: str
    request: ClientRequest
    outcome: SessionOutcome | None = None
    """What the choice was to its session, if it has one."""

    @property
    def deployment(self) -> str:
        """The id of the deployment."""
        return self.pick.deployment.spec.id


class AttemptListener(Protocol):
    """What wants to know how attempts end; each of them ends once."""

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Know that an answer came; it may not tell what it used."""

    def on_stream_start(self, attempt: Attempt, headers: Mapping[str, Any] | None) -> None:
        """Know that an answer has begun, and what its provider has said before it."""

    def on_lost(self, attempt: Attempt) -> None:
        """Know that nobody will ever tell how it ended."""

    def release(self, attempt: Attempt) -> None:
        """Give back what it holds: of how it ended, an error of ours knows."""


class AttemptTracker:
    """All attempts that are under way, in one event loop."""

    def __init__(self, ends: AttemptListener, errors: Callable[[str, Exception], None]) -> None:
        self._ends, self._errors = ends, errors
        self._running: dict[asyncio.Task[Any], RequestAttempts] = {}
        self._streams: OrderedDict[Attempt, None] = OrderedDict()

    def attempts_of(self, client_request: ClientRequest) -> RequestAttempts:
        """Return what is known of the request that the current task makes."""
        task = asyncio.current_task()
        assert task is not None
        attempts = self._running.get(task)
        if attempts is not None and attempts.request.is_same(client_request):
            return attempts
        if attempts is None:
            task.add_done_callback(self._done)
        else:
            # A guardrail may ask a model in the very task of a request.
            self.end_last(attempts)
        attempts = self._running[task] = RequestAttempts(client_request)
        # A stream that broke off is taken up in another task; the event that tells of it may come before or after.
        attempts.excluded = (
            client_request.broken.union([stream.deployment for stream in client_request.streams])
            if client_request.streams
            else client_request.broken
        )
        return attempts

    def end_last(self, attempts: RequestAttempts) -> None:
        """Know that a request comes again: what it tried last is over, though nobody has said so."""
        if attempts.current is not None:
            attempt, attempts.current = attempts.current, None
            attempts.excluded |= {attempt.deployment}
            self._ends.on_lost(attempt)

    def failed(self, deployment: str) -> Attempt | None:
        """Return the attempt of the current task that has failed at a deployment; its end is the caller's to tell."""
        task = asyncio.current_task()
        attempts = self._running.get(task) if task is not None else None
        if attempts is None or attempts.current is None or attempts.current.deployment != deployment:
            return None
        attempt, attempts.current = attempts.current, None
        attempts.excluded |= {deployment}
        return attempt

    def stream_ended(self, client_request: ClientRequest, deployment: str | None) -> Attempt | None:
        """Return the attempt whose stream is over; its end is the caller's to tell."""
        for attempt in client_request.streams:
            if deployment is None or attempt.deployment == deployment:
                self._forget(attempt)
                return attempt
        return None

    def stream_broke(self, client_request: ClientRequest) -> Attempt | None:
        """Return the attempt whose stream has broken off, the oldest; its end is the caller's to tell."""
        attempt = self.stream_ended(client_request, None)
        if attempt is not None:
            client_request.broken |= {attempt.deployment}
        return attempt

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def _done(self, task: asyncio.Task[Any]) -> None:
        attempts = self._running.pop(task)
        attempt, attempts.current = attempts.current, None
        if attempt is not None:
            self._tell(attempt, lambda: self._ended(task, attempt))

    def _ended(self, task: asyncio.Task[Any], attempt: Attempt) -> None:
        if task.cancelled() or task.exception() is not None:
            self._ends.on_lost(attempt)
            return
        result = task.result()
        if hasattr(result, "__aiter__"):
            self._is_streaming(attempt, result)
        elif result is None or isinstance(result, str | bytes):
            # It was a task that passes on the chunks of a stream.
            self._ends.on_lost(attempt)
        else:
            self._ends.on_success(attempt, usage_of_response(result))

    def _is_streaming(self, attempt: Attempt, stream: object) -> None:
        self._streams[attempt] = None
        attempt.request.streams += (attempt,)
        attempt.request.attach_to(getattr(stream, "logging_obj", None))
        if len(self._streams) > MAX_STREAMS:
            self._forget(next(iter(self._streams)))
        loop = asyncio.get_running_loop()
        # What takes no weak references tells nobody when it is let go: there is its event, and in the end its lease
        # expires.
        with contextlib.suppress(TypeError):
            weakref.finalize(stream, _soon, loop, weakref.ref(self), attempt).atexit = False
        self._ends.on_stream_start(attempt, usage_of_response(stream).headers)

    def _let_go(self, attempt: Attempt) -> None:
        if attempt in self._streams:
            self._forget(attempt)
            self._tell(attempt, lambda: self._ends.on_lost(attempt))

    def _tell(self, attempt: Attempt, end: Callable[[], None]) -> None:
        try:
            end()
        except Exception as error:  # noqa: BLE001 - whatever it is, the loop has no use for it
            self._errors("learning from an end", error)
            if attempt not in self._streams:
                self._ends.release(attempt)

    def _forget(self, attempt: Attempt) -> None:
        self._streams.pop(attempt, None)
        attempt.request.streams = tuple([one for one in attempt.request.streams if one is not attempt])


class RequestAttempts:
    """The attempts of one request."""

    __slots__ = ("current", "excluded", "request", "waited")

    def __init__(self, client_request: ClientRequest) -> None:
        self.request = client_request
        self.current: Attempt | None = None
        self.excluded: frozenset[str] = frozenset()
        """The deployments at which it has failed."""
        self.waited = 0.0
        """Seconds that it has waited for accounts, over all attempts."""


def _soon(loop: asyncio.AbstractEventLoop, attempts: weakref.ref[AttemptTracker], attempt: Attempt) -> None:
    """Finalizers run anywhere, in any thread: what is to be done is done in the loop."""

    def later() -> None:
        found = attempts()
        if found is not None:
            loop.call_later(STREAM_EVENT_GRACE_SECONDS, found._let_go, attempt)  # noqa: SLF001 - a method of its own class

    if not loop.is_closed():
        loop.call_soon_threadsafe(later)
