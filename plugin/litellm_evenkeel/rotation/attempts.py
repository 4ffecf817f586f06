"""Attempts, from the pick to their end: the task in which each attempt runs, and its outcome.

LiteLLM makes the attempts of one request one after another in a task of their own, whose result is the whole response
or a stream. So an attempt ends with one of the following: the failure that LiteLLM's hook reports; the next pick in the
same task, also if LiteLLM only selected a deployment and sent nothing; the end of the task; and, for a stream, the
event that LiteLLM sends when it is over, or the garbage collection of the stream, as some streams have no event.

Much of this happens in callbacks of the event loop, where no caller would see an error. So errors are reported, and the
attempt's reservation is released.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

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
        """Id of the request outside a proxy, where no logging object identifies it."""
        self.picked: RoutingDecision | None = None
        """Latest pick; `None` before the first."""
        self.streams: tuple[Attempt, ...] = ()
        """Attempts whose streams are open, oldest first."""
        self.broken: frozenset[str] = frozenset()
        """Ids of the deployments whose streams broke off."""

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> ClientRequest:
        """Return the client request to which a LiteLLM request belongs; create it for the first attempt."""
        details = getattr(request.get("litellm_logging_obj"), "model_call_details", None)
        if details is None:
            return cls(str(request.get("litellm_call_id") or request.get("litellm_trace_id") or ""))
        client_request = cls.from_event(details)
        if client_request is None:
            client_request = details[REQUEST_KEY] = cls()
        return client_request

    def record_pick(self, account: str, reason: str) -> None:
        """Record the pick of the next attempt."""
        self.picked = RoutingDecision(account, reason, 1 if self.picked is None else self.picked.attempt + 1)

    def withdraw_pick(self) -> None:
        """Withdraw the latest pick, which no attempt has followed."""
        if self.picked is not None:
            self.picked = replace(self.picked, attempt=self.picked.attempt - 1) if self.picked.attempt > 1 else None

    @staticmethod
    def from_event(details: Mapping[str, Any]) -> ClientRequest | None:
        """Return the client request of a logging event; `None` if it has none."""
        client_request = details.get(REQUEST_KEY)
        return client_request if isinstance(client_request, ClientRequest) else None

    def attach_to(self, logging_object: object) -> None:
        """Attach the request to a logging object that LiteLLM created later, for a single attempt."""
        details = getattr(logging_object, "model_call_details", None)
        if details is not None:
            details.setdefault(REQUEST_KEY, self)

    def is_same(self, other: ClientRequest) -> bool:
        """Return whether `other` is the same request."""
        return self is other or (self.name is not None and self.name == other.name)

    def __deepcopy__(self, _: object) -> Self:
        """Return the request itself, as LiteLLM copies what it logs."""
        return self


class RetryState(NamedTuple):
    """Where LiteLLM's retries of a request stand.

    LiteLLM counts some retries only after the next pick. But it replaces `previous_models` with each retry, and copies
    the metadata for fallbacks.
    """

    metadata: object
    previous_models: object
    retries: int
    fallbacks: int

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Self | None:
        """Return the state of a request; `None` if it has no metadata."""
        for name in ("litellm_metadata", "metadata"):
            metadata = request.get(name)
            if metadata and isinstance(metadata, dict):
                retries, fallbacks = metadata.get("attempted_retries"), request.get("fallback_depth")
                return cls(
                    metadata,
                    metadata.get("previous_models"),
                    retries if isinstance(retries, int) else 0,
                    fallbacks if isinstance(fallbacks, int) else 0,
                )
        return None

    def is_unchanged(self, later: RetryState | None) -> bool:
        """Return whether LiteLLM has made no retry and no fallback until `later`."""
        return (
            later is not None
            and later.metadata is self.metadata
            and later.previous_models is self.previous_models
            and later[2:] == self[2:]
        )


# The event of a stream that was garbage-collected may still arrive.
STREAM_EVENT_GRACE_SECONDS = 2.0
# Bounds the memory for streams that never end. Beyond it, the oldest is dropped, and its reservation expires.
MAX_STREAMS = 100_000


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt: a request at one account."""

    pick: Pick
    model_group: str
    request: ClientRequest
    outcome: SessionOutcome | None = None
    """Outcome of the pick for the request's session; `None` without a session."""
    retry_state: RetryState | None = None
    """Where LiteLLM's retries of the request stood when it was picked; `None` if unknown."""

    @property
    def deployment(self) -> str:
        """Id of the deployment."""
        return self.pick.deployment.spec.id


class AttemptListener(Protocol):
    """Receiver of the ends of attempts; each attempt ends once."""

    def on_success(self, attempt: Attempt, usage: ResponseUsage) -> None:
        """Record a response. `usage` may be unknown."""

    def on_stream_start(self, attempt: Attempt, headers: Mapping[str, Any] | None) -> None:
        """Record the start of a stream, with the provider's response headers; `None` if there are none."""

    def on_lost(self, attempt: Attempt) -> None:
        """Record that the end of the attempt stays unknown."""

    def on_unused(self, attempt: Attempt) -> None:
        """Record that no request followed the pick."""

    def release(self, attempt: Attempt) -> None:
        """Release the attempt's reservation after an error of the plugin itself."""


class AttemptTracker:
    """All running attempts of one event loop."""

    def __init__(self, listener: AttemptListener, on_error: Callable[[str, Exception], None]) -> None:
        self._listener, self._on_error = listener, on_error
        self._running: dict[asyncio.Task[Any], RequestAttempts] = {}
        self._streams: OrderedDict[Attempt, None] = OrderedDict()

    def attempts_of(self, client_request: ClientRequest) -> RequestAttempts:
        """Return the attempts of the request that the current task makes."""
        task = asyncio.current_task()
        assert task is not None
        attempts = self._running.get(task)
        if attempts is not None and attempts.request.is_same(client_request):
            return attempts
        if attempts is None:
            task.add_done_callback(self._task_done)
        else:
            # A guardrail may send a request to a model in the task of another request.
            self._lose_current(attempts)
        attempts = self._running[task] = RequestAttempts(client_request)
        # A broken stream is continued in another task, which may start before or after the event about the break.
        attempts.excluded = (
            client_request.broken.union([stream.deployment for stream in client_request.streams])
            if client_request.streams
            else client_request.broken
        )
        return attempts

    def end_current(self, attempts: RequestAttempts, retry_state: RetryState | None) -> None:
        """End the current attempt, if any, whose end was not reported, because its request makes another pick.

        If LiteLLM has made neither a retry nor a fallback in between, it only selected a deployment, for instance to
        see whether a model group has one.
        """
        attempt = attempts.current
        if attempt is not None and attempt.retry_state is not None and attempt.retry_state.is_unchanged(retry_state):
            attempts.current = None
            self._withdraw(attempt)
        else:
            self._lose_current(attempts)

    def _withdraw(self, attempt: Attempt) -> None:
        attempt.request.withdraw_pick()
        self._listener.on_unused(attempt)

    def _lose_current(self, attempts: RequestAttempts) -> None:
        if attempts.current is not None:
            attempt, attempts.current = attempts.current, None
            attempts.excluded |= {attempt.deployment}
            self._listener.on_lost(attempt)

    def failed(self, deployment: str) -> Attempt | None:
        """Take the current task's failed attempt at `deployment`, or `None`. The caller reports its end."""
        task = asyncio.current_task()
        attempts = self._running.get(task) if task is not None else None
        if attempts is None or attempts.current is None or attempts.current.deployment != deployment:
            return None
        attempt, attempts.current = attempts.current, None
        attempts.excluded |= {deployment}
        return attempt

    def stream_ended(self, client_request: ClientRequest, deployment: str | None) -> Attempt | None:
        """Take the attempt whose stream at `deployment` ended, of several the oldest; `None` if there is none.

        If `deployment` is `None`, any deployment counts. The caller reports the end of the attempt.
        """
        for attempt in client_request.streams:
            if deployment is None or attempt.deployment == deployment:
                self._drop_stream(attempt)
                return attempt
        return None

    def stream_broke(self, client_request: ClientRequest) -> Attempt | None:
        """Take the attempt with the oldest open stream, which broke off, as `stream_ended` does."""
        attempt = self.stream_ended(client_request, None)
        if attempt is not None:
            client_request.broken |= {attempt.deployment}
        return attempt

    @property
    def streams(self) -> int:
        """Number of open streams."""
        return len(self._streams)

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        attempts = self._running.pop(task)
        attempt, attempts.current = attempts.current, None
        if attempt is not None:
            self._notify(attempt, lambda: self._end_by_result(task, attempt))

    def _end_by_result(self, task: asyncio.Task[Any], attempt: Attempt) -> None:
        if task.cancelled() or task.exception() is not None:
            self._listener.on_lost(attempt)
            return
        result = task.result()
        if hasattr(result, "__aiter__"):
            self._add_stream(attempt, result)
        elif isinstance(result, bool) and attempt.request.name is None:
            # The task only looked whether a model group has a deployment for a request, whose logging object it has.
            # Guardrails that send a request and return its verdict have none.
            self._withdraw(attempt)
        elif result is None or isinstance(result, str | bytes):
            # The task only passed on the chunks of a stream.
            self._listener.on_lost(attempt)
        else:
            self._listener.on_success(attempt, usage_of_response(result))

    def _add_stream(self, attempt: Attempt, stream: object) -> None:
        self._streams[attempt] = None
        attempt.request.streams += (attempt,)
        attempt.request.attach_to(getattr(stream, "logging_obj", None))
        if len(self._streams) > MAX_STREAMS:
            self._drop_stream(next(iter(self._streams)))
        loop = asyncio.get_running_loop()
        # The garbage collection of an object without weak references goes unnoticed. Such a stream ends with its event,
        # and its reservation expires at the latest.
        with contextlib.suppress(TypeError):
            weakref.finalize(stream, _schedule_end, loop, weakref.ref(self), attempt).atexit = False
        self._listener.on_stream_start(attempt, usage_of_response(stream).headers)

    def _stream_collected(self, attempt: Attempt) -> None:
        if attempt in self._streams:
            self._drop_stream(attempt)
            self._notify(attempt, lambda: self._listener.on_lost(attempt))

    def _notify(self, attempt: Attempt, end: Callable[[], None]) -> None:
        try:
            end()
        except Exception as error:  # noqa: BLE001 - the event loop would only log it
            self._on_error("learning from an end", error)
            if attempt not in self._streams:
                self._listener.release(attempt)

    def _drop_stream(self, attempt: Attempt) -> None:
        self._streams.pop(attempt, None)
        attempt.request.streams = tuple([stream for stream in attempt.request.streams if stream is not attempt])


class RequestAttempts:
    """State of one request's attempts."""

    __slots__ = ("current", "excluded", "request", "waited")

    def __init__(self, client_request: ClientRequest) -> None:
        self.request = client_request
        self.current: Attempt | None = None
        self.excluded: frozenset[str] = frozenset()
        """Ids of the deployments at which the request failed."""
        self.waited = 0.0
        """Seconds spent in the queue, over all attempts."""


def _schedule_end(loop: asyncio.AbstractEventLoop, tracker_ref: weakref.ref[AttemptTracker], attempt: Attempt) -> None:
    """End an attempt whose stream was garbage-collected, in the event loop, as finalizers may run in any thread."""

    def later() -> None:
        tracker = tracker_ref()
        if tracker is not None:
            loop.call_later(STREAM_EVENT_GRACE_SECONDS, tracker._stream_collected, attempt)  # noqa: SLF001 - a method of its own class

    if not loop.is_closed():
        loop.call_soon_threadsafe(later)
