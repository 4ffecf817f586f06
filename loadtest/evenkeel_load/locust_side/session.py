"""One load in one process: its share of the requests, each sent when it is due, each recorded.

Runs in Locust's process only: greenlets.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gevent
from gevent.pool import Group

from evenkeel_load.arrivals import shard
from evenkeel_load.clock import NS, now_ns
from evenkeel_load.entities import key_of
from evenkeel_load.http import payload
from evenkeel_load.options import PER_USER
from evenkeel_load.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_load.http.client import Target
    from evenkeel_load.plan import Plan
    from evenkeel_load.records.outcome import Outcome
    from evenkeel_load.records.recorder import Recorder
    from evenkeel_load.scenario import Call

DISPATCHER = -1


@dataclass(frozen=True)
class Share:
    """Which of several processes this one is, and when all of them begin."""

    index: int
    count: int
    start_ns: int


class Session:
    """A load, as far as this process makes it.

    `tell` is called with each request's outcome, `ended` at the end, `failed` with an error that is no request's.
    """

    def __init__(
        self,
        plan: Plan,
        target: Target,
        recorder: Recorder,
        share: Share,
        tell: Callable[[Call, Outcome], None],
        ended: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._plan = plan
        self._target = target
        self._recorder = recorder
        self._share = share
        self._tell = tell
        self._ended = ended
        self._failed = failed
        self._mode = plan.mode()
        users = [DISPATCHER] if plan.is_open else range(share.index, plan.users, share.count)
        self._idle = deque(users)
        self._busy = 0
        self._own = Group()
        self._requests = Group()
        self.sent = 0
        self.in_flight = 0
        self.most_lag_ns = 0
        """Of the requests since this was last set to 0."""
        if not users:
            ended()

    def work(self) -> None:
        """Be one of the simulated users, or the dispatcher of an open load; return when there is nothing left to do."""
        if not self._idle:
            return
        user = self._idle.popleft()
        self._busy += 1
        try:
            self._wait(self._share.start_ns)
            if user == DISPATCHER:
                self._dispatch()
            else:
                self._ask(user)
        except Exception as error:  # noqa: BLE001  # whatever it is, the load must not go on in silence
            self._failed(error)
        self._busy -= 1
        if not self._busy and not self._idle:
            self._ended()

    def work_alone(self) -> None:
        """Be all users that Locust has not started here: it deals them out to processes in its own way."""
        for _ in range(len(self._idle)):
            self._own.spawn(self.work)

    def stop(self) -> None:
        """Send nothing any more, and wait for nothing."""
        self._idle.clear()
        self._own.kill()
        self._requests.kill()

    def _dispatch(self) -> None:
        for number, due in shard(self._plan.times, self._share.index, self._share.count):
            due_ns = self._share.start_ns + int(due * NS)
            self._wait(due_ns)
            self._requests.spawn(self._one_of_many, number, due_ns)
        self._requests.join()

    def _one_of_many(self, number: int, due_ns: int) -> None:
        try:
            self._one(number, due_ns)
        except Exception as error:  # noqa: BLE001  # as in `work`
            self._failed(error)

    def _ask(self, user: int) -> None:
        plan = self._plan
        ends = time.monotonic() + plan.duration if plan.duration is not None else None
        number = user
        while (plan.requests is None or number < plan.requests) and (ends is None or time.monotonic() < ends):
            self._one(number, now_ns())
            number += plan.users

    def _wait(self, until_ns: int) -> None:
        # Even the latest lets others have their turn.
        gevent.sleep(max(0.0, (until_ns - now_ns()) / NS))

    def _one(self, number: int, intended_ns: int) -> None:
        plan = self._plan
        user, turn = plan.place(number)
        user_id = self._mode.id_of(user, turn)
        call = plan.scenario.calls.choose(plan.seed, number)
        api_key = key_of(plan, user) if plan.key_mode == PER_USER else plan.api_key
        key = payload.key(plan, number)
        headers = {"authorization": f"Bearer {api_key}", payload.KEY_HEADER: key}
        body = payload.body(plan, call, number, user_id)
        self.sent += 1
        self.in_flight += 1
        try:
            found = self._target.send(call.path, body, headers, stream=call.stream)
        finally:
            self.in_flight -= 1
        self.most_lag_ns = max(self.most_lag_ns, found.sent_ns - intended_ns)
        self._recorder.add(
            Record(
                number=number,
                step=plan.step,
                call=call.name,
                user=user_id,
                key=key,
                intended_ns=intended_ns,
                sent_ns=found.sent_ns,
                first_byte_ns=found.first_byte_ns or None,
                first_token_ns=found.first_token_ns or None,
                last_token_ns=found.last_token_ns or None,
                end_ns=found.end_ns,
                chunk_ns=found.chunk_ns,
                status=found.status or None,
                error=found.error or None,
                retries=found.retries,
                model_id=found.model_id,
                mock_received_ns=found.mock_received_ns,
                mock_sent_ns=found.mock_sent_ns,
                arm=plan.arm,
                run=plan.run,
            )
        )
        self._tell(call, found)
