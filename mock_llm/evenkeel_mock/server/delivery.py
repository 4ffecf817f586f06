"""An answer on its way: it waits, is sent whole or in pieces, suffers its fault, and notices when the client leaves."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

from evenkeel_mock.faults import Kind
from evenkeel_mock.quotas.headers import of_limits
from evenkeel_mock.server.chunk_timer import Stream
from evenkeel_mock.server.connection import JSON, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_mock.faults import Fault
    from evenkeel_mock.server.chunk_timer import Pacer
    from evenkeel_mock.server.job import Job
    from evenkeel_mock.wire.answer import Answer

EVENTS = b"content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
EVENT_END = b"\n\n"
OK, CLIENT_LEFT = 200, 499


def times(received_ns: int, sent_ns: int) -> bytes:
    """Return the headers from which a client can tell how much of its latency is the mock's."""
    return b"x-mock-received-ns: %d\r\nx-mock-sent-ns: %d\r\n" % (received_ns, sent_ns)


class Delivery:
    """Delivery of an answer. At its end, `ended` is called with the job, the status and the completion tokens."""

    __slots__ = ("_answer", "_ended", "_factor", "_job", "_pacer", "_stream", "_timer")

    def __init__(self, job: Job, answer: Answer, pacer: Pacer, ended: Callable[[Job, int, int], None]) -> None:
        self._job = job
        self._answer = answer
        self._pacer = pacer
        self._ended = ended
        self._factor = job.fault.factor if job.fault is not None else 1.0
        self._timer: asyncio.TimerHandle | None = None
        self._stream: Stream | None = None
        job.exchange.gone = self._gone

    def begin(self, queued: float) -> None:
        """Send the answer at its planned time, `queued` seconds later if other requests were before it."""
        job = self._job
        streams = job.request.stream and job.family.events is not None
        planned = job.plan.ttft if streams else job.plan.duration(len(self._answer.pieces))
        wait = planned * self._factor + queued
        if job.fault is not None:
            wait += job.fault.seconds
        send = self._send_events if streams else self._send_whole
        if not wait:
            send()
        elif wait < math.inf:
            self._timer = asyncio.get_running_loop().call_later(wait, self._at, time.monotonic() + wait, send)

    def _at(self, due: float, send: Callable[[], None]) -> None:
        early = due - time.monotonic()
        if early > 0:
            # The loop counts in whole milliseconds, and from when it last looked at the clock.
            self._timer = asyncio.get_running_loop().call_later(early, self._at, due, send)
            return
        try:
            send()
        except Exception as error:  # noqa: BLE001  # the client must not wait for ever, nor its account
            self._job.exchange.fail(error)

    def _send_whole(self) -> None:
        job, answer = self._job, self._answer
        fault, exchange = job.fault, job.exchange
        body = job.family.response_body(job.request, answer)
        head = self._head(JSON)
        if fault is None:
            exchange.respond(OK, head, body)
        elif fault.kind is Kind.RESET:
            exchange.start(OK, head)
            exchange.send(body[: len(body) // 2])
            exchange.cut()
        else:
            exchange.respond(OK, head, spoiled(body, fault))
        self._ended(job, OK, answer.completion_tokens)

    def _send_events(self) -> None:
        job = self._job
        assert job.family.events is not None
        first, chunks, last = job.family.events(job.request, self._answer)
        pieces = [*chunks] or [b""]
        pieces[0] = first + pieces[0]
        pieces[-1] += last
        if job.fault is not None:
            pieces = broken(pieces, job.fault, job.family.failure)
        gaps = job.plan.waits(len(pieces))
        if self._factor != 1.0:
            factor = self._factor
            gaps = gaps * factor if isinstance(gaps, float) else tuple(gap * factor for gap in gaps)
        exchange = job.exchange
        exchange.start(OK, self._head(EVENTS))
        if gaps == 0.0 or len(pieces) < 2:  # noqa: PLR2004  # nothing to wait for
            if pieces:
                exchange.send(b"".join(pieces))
            self._finish()
            return
        self._stream = Stream(exchange.send, pieces, gaps, self._finish, exchange.fail)
        self._pacer.add(self._stream)

    def _finish(self) -> None:
        job = self._job
        if job.fault is not None and job.fault.kind is Kind.RESET:
            job.exchange.cut()
        else:
            job.exchange.finish()
        self._ended(job, OK, self._answer.completion_tokens)

    def _gone(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._stream is not None:
            self._stream.stop()
        self._ended(self._job, CLIENT_LEFT, 0)

    def _head(self, kind: bytes) -> bytes:
        job = self._job
        job.sent_ns = now = time.time_ns()
        head = kind + times(job.exchange.received_ns, now)
        limits = job.caller.limits
        if limits.windows and job.ticket is not None:
            head += lines(of_limits(job.ticket.state, limits, now, job.family.dialect))
        return head


def spoiled(body: bytes, fault: Fault) -> bytes:
    """Return what a fault makes of a whole answer."""
    if fault.kind is Kind.MALFORMED:
        return body[:-1] + b",,"
    return body[: len(body) // 2] if fault.kind is Kind.HALF_EVENT else body


def broken(pieces: list[bytes], fault: Fault, failure: Callable[[int], bytes]) -> list[bytes]:
    """Return what a fault makes of a stream."""
    # An answer that is shorter than that suffers it at its last chunk.
    at = min(fault.chunks, len(pieces) - 1)
    if fault.kind is Kind.RESET:
        return pieces[:at]
    if fault.kind is Kind.HALF_EVENT:
        return [*pieces[:at], pieces[at][: len(pieces[at]) // 2]]
    if fault.kind is Kind.ERROR_EVENT:
        before = pieces[:at]
        return [*before, failure(b"".join(before).count(EVENT_END))]
    if fault.kind is Kind.MALFORMED:
        return [*pieces[:at], b'data: {"broken":,,\n\n', *pieces[at:]]
    return pieces
