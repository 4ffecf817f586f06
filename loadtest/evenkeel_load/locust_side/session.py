"""The part of a load that one process sends: each request when it is due, and each recorded.

Runs in Locust's process only: greenlets.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import gevent
from gevent.pool import Group

from evenkeel_load.arrivals import shard
from evenkeel_load.clock import NS, now_ns
from evenkeel_load.entities import key_of
from evenkeel_load.errors import LoadConfigError
from evenkeel_load.http import payload
from evenkeel_load.options import PER_USER
from evenkeel_load.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel_load.draws import Mix
    from evenkeel_load.http.client import Target
    from evenkeel_load.plan import Plan
    from evenkeel_load.records.outcome import Outcome
    from evenkeel_load.records.recorder import Recorder

DISPATCHER = -1


class WrongTask(LoadConfigError):
    """A task of a locustfile did not send one request."""


@dataclass(frozen=True)
class Share:
    """The number of this process among `count` of them, and when all of them begin."""

    index: int
    count: int
    start_ns: int


@dataclass
class Request:
    """A request that a task is about to send: what is drawn for it, and `post`, which sends it."""

    session: Session
    plan: Plan
    call: str
    number: int
    intended_ns: int
    end_user: str | None
    api_key: str
    is_sent: bool = False

    @property
    def prompt(self) -> str:
        """The text for the model."""
        return payload.prompt(self.plan, self.number)

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.plan.models.choose(self.plan.seed, self.number)

    @property
    def max_tokens(self) -> int | None:
        """The length of the answer, or None for no limit."""
        return self.plan.max_tokens or None

    def post(self, path: str, body: Mapping[str, Any]) -> Outcome:
        """Send the request, and record it."""
        if self.is_sent:
            raise WrongTask(
                f"The task {self.call} sends a second request.",
                hint="Write one task for each kind of request; `@task(3)` gives it a weight.",
            )
        self.is_sent = True
        return self.session.send(self, path, body)


class TaskUser(Protocol):
    """A user whose tasks send requests. The tasks are methods, and `calls` has their names."""

    calls: ClassVar[Mix[str]]
    request: Request


class Session:
    """The part of a load that this process sends.

    `report` is called with each request's name and outcome, `ended` at the end, `failed` with an error that is not a
    request's. `new_user` returns another user of the locustfile's class.
    """

    def __init__(
        self,
        plan: Plan,
        target: Target,
        recorder: Recorder,
        share: Share,
        new_user: Callable[[], TaskUser],
        report: Callable[[str, Outcome], None],
        ended: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._plan = plan
        self._target = target
        self._recorder = recorder
        self._share = share
        self._new_user = new_user
        self._report = report
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
        """The largest lag since this was last set to 0."""
        if not users:
            ended()

    def work(self, user: TaskUser) -> None:
        """Send the requests of one simulated user, or all requests of an open load."""
        if not self._idle:
            return
        index = self._idle.popleft()
        self._busy += 1
        try:
            self._wait(self._share.start_ns)
            if index == DISPATCHER:
                self._dispatch(user)
            else:
                self._send_in_turn(user, index)
        except Exception as error:  # noqa: BLE001  # whatever it is, the load must not go on in silence
            self._failed(error)
        self._busy -= 1
        if not self._busy and not self._idle:
            self._ended()

    def start_idle_users(self) -> None:
        """Start the simulated users that Locust did not start here: it shares them among processes in its own way."""
        for _ in range(len(self._idle)):
            self._own.spawn(self.work, self._new_user())

    def stop(self) -> None:
        """Stop at once: no further request is sent, and no answer is waited for."""
        self._idle.clear()
        self._own.kill()
        self._requests.kill()

    def send(self, request: Request, path: str, body: Mapping[str, Any]) -> Outcome:
        """Send a request, record it and report it."""
        plan = self._plan
        key = payload.key(plan, request.number)
        headers = {"authorization": f"Bearer {request.api_key}", payload.KEY_HEADER: key}
        encoded = payload.encode(body, key)
        self.sent += 1
        self.in_flight += 1
        try:
            outcome = self._target.send(path, encoded, headers, stream=bool(body.get("stream")))
        finally:
            self.in_flight -= 1
        self.most_lag_ns = max(self.most_lag_ns, outcome.sent_ns - request.intended_ns)
        self._recorder.add(
            Record(
                number=request.number,
                step=plan.step,
                call=request.call,
                user=request.end_user,
                key=key,
                intended_ns=request.intended_ns,
                sent_ns=outcome.sent_ns,
                first_byte_ns=outcome.first_byte_ns or None,
                first_token_ns=outcome.first_token_ns or None,
                last_token_ns=outcome.last_token_ns or None,
                end_ns=outcome.end_ns,
                chunk_ns=outcome.chunk_ns,
                status=outcome.status or None,
                error=outcome.error or None,
                retries=outcome.retries,
                model_id=outcome.model_id,
                mock_received_ns=outcome.mock_received_ns,
                mock_sent_ns=outcome.mock_sent_ns,
                arm=plan.arm,
                run=plan.run,
            )
        )
        self._report(request.call, outcome)
        return outcome

    def _dispatch(self, user: TaskUser) -> None:
        for number, due in shard(self._plan.times, self._share.index, self._share.count):
            due_ns = self._share.start_ns + int(due * NS)
            self._wait(due_ns)
            self._requests.spawn(self._run_task_alone, user, number, due_ns)
        self._requests.join()

    def _run_task_alone(self, user: TaskUser, number: int, due_ns: int) -> None:
        try:
            self._run_task(user, number, due_ns)
        except Exception as error:  # noqa: BLE001  # as in `work`
            self._failed(error)

    def _send_in_turn(self, user: TaskUser, index: int) -> None:
        plan = self._plan
        ends = time.monotonic() + plan.duration if plan.duration is not None else None
        number = index
        while (plan.requests is None or number < plan.requests) and (ends is None or time.monotonic() < ends):
            self._run_task(user, number, now_ns())
            number += plan.users

    def _wait(self, until_ns: int) -> None:
        # Other greenlets run even if this one is late.
        gevent.sleep(max(0.0, (until_ns - now_ns()) / NS))

    def _run_task(self, user: TaskUser, number: int, intended_ns: int) -> None:
        plan = self._plan
        index, turn = plan.user_and_turn(number)
        call = user.calls.choose(plan.seed, number)
        user.request = request = Request(
            self,
            plan,
            call,
            number,
            intended_ns,
            end_user=self._mode.user_id(index, turn),
            api_key=key_of(plan, index) if plan.key_mode == PER_USER else plan.api_key,
        )
        getattr(user, call)()
        if not request.is_sent:
            raise WrongTask(f"The task {call} sends no request.", hint="Call self.post once in each task.")
