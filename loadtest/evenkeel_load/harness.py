"""Between Locust and a load: its options, its users, its processes' shares, its end.

A master tells each worker its share before the users start, and ends the run when every worker that is still there has
said that it is done. Without workers one process is both.

Runs in Locust's process only.
"""

from __future__ import annotations

import contextlib
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gevent
from gevent.event import Event
from locust import User, events, task
from locust.runners import MasterRunner, WorkerRunner

from evenkeel_load import folder
from evenkeel_load.client import Target
from evenkeel_load.clock import now_ns
from evenkeel_load.entities import entities
from evenkeel_load.errors import LoadError
from evenkeel_load.health import Health
from evenkeel_load.lifeline import STARTED_BY_US, end_with_parent
from evenkeel_load.options import OPTIONS, Option, plan as plan_of, read
from evenkeel_load.recorder import Recorder
from evenkeel_load.session import Session, Share

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser
    from locust.env import Environment
    from locust.rpc import Message

    from evenkeel_load.outcome import Outcome
    from evenkeel_load.plan import Plan
    from evenkeel_load.scenario import Call

SHARE, DONE = "evenkeel-share", "evenkeel-done"
# Long enough for all workers to hear of it.
LEAD_NS = 1_000_000_000
# A worker whose clock says something else than the master's goes by its own.
MOST_SKEW_NS = 5 * LEAD_NS
SECOND = 1.0
NS_PER_MS = 1_000_000
SECRET = ("api-key", "admin-key")

log = logging.getLogger("evenkeel")


class RequestFailed(Exception):
    """A request did not go well; its text is the class of the error."""


def load_user(scenario: str) -> type[User]:
    """Return the user class of a scenario: all that a locustfile needs."""
    harness = Harness(scenario)

    class LoadUser(User):
        @task
        def work(self) -> None:
            harness.work()
            # Nothing is left to do, and Locust would begin anew.
            Event().wait()

    LoadUser.__name__ = LoadUser.__qualname__ = f"{scenario.title()}User"
    return LoadUser


class Harness:
    """What one Locust process does for a scenario, whatever its part is."""

    def __init__(self, scenario: str) -> None:
        self._scenario = scenario
        self._records: str | None = None
        self._share: dict[str, Any] = {}
        self._session: Session | None = None
        self._done: set[str] = set()
        self._running = contextlib.ExitStack()
        events.init_command_line_parser.add_listener(_add_options)
        events.init.add_listener(self._init)
        events.test_start.add_listener(self._start)
        events.spawning_complete.add_listener(self._spawned)
        events.test_stop.add_listener(self._stop)

    def work(self) -> None:
        """Be a user."""
        if self._session is not None:
            self._session.work()

    def _init(self, environment: Environment, **_: Any) -> None:
        if STARTED_BY_US in os.environ:
            end_with_parent()
        if environment.parsed_options is not None:
            # A worker will take its options from the master, but its folder is its own.
            self._records = environment.parsed_options.records
        # Failed requests are what a load is there to show; whether they are too many, the criteria say.
        environment.process_exit_code = 0
        if isinstance(environment.runner, WorkerRunner):
            environment.runner.register_message(SHARE, lambda msg, **_: self._share.update(msg.data))
        elif isinstance(environment.runner, MasterRunner):
            environment.runner.register_message(DONE, self._worker_done)

    def _start(self, environment: Environment, **_: Any) -> None:
        runner = environment.runner
        assert runner is not None
        assert environment.parsed_options is not None
        host = environment.host or ""
        try:
            if isinstance(runner, WorkerRunner):
                self._begin(environment, **self._share)
                return
            run = environment.parsed_options.run_name or f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"[:-3]
            users = runner.target_user_count
            plan = self._plan(environment, users, run)
            self._running.enter_context(entities(plan, host))
            folder.write_plan(self._folder(run), plan, host)
            self._running.callback(gevent.spawn(self._watch, environment, self._folder(run)).kill)
            if isinstance(runner, MasterRunner):
                self._done.clear()
                self._deal_out(runner, users, run)
            else:
                self._begin(environment, users, run, 0, 1, now_ns() + LEAD_NS)
        except LoadError as error:
            # Locust would log the error of a listener, and go on.
            log.error("%s", error)  # noqa: TRY400  # what went wrong is in the text
            folder.write_failure(self._folder("failed"), error)
            # Not before the runner has started: it cannot end what has not begun.
            gevent.spawn_later(SECOND, _end, environment)

    def _deal_out(self, runner: MasterRunner, users: int, run: str) -> None:
        workers = runner.clients.ready
        start_ns = now_ns() + LEAD_NS
        for index, worker in enumerate(sorted(workers, key=lambda worker: str(worker.id))):
            share = {"users": users, "run": run, "index": index, "count": len(workers), "start_ns": start_ns}
            runner.send_message(SHARE, share, client_id=worker.id)

    def _begin(self, environment: Environment, users: int, run: str, index: int, count: int, start_ns: int) -> None:
        plan = self._plan(environment, users, run)
        if abs(start_ns - now_ns()) > MOST_SKEW_NS:
            log.warning("The master's clock is another one than this machine's: this worker begins by its own.")
            start_ns = now_ns() + LEAD_NS
        running = self._running
        recorder = Recorder(self._folder(run))
        running.callback(recorder.close)
        target = Target(environment.host or "", connections=plan.connections, timeout=plan.timeout)
        running.callback(target.close)

        def tell(call: Call, found: Outcome) -> None:
            environment.events.request.fire(
                request_type="POST",
                name=call.name,
                response_time=(found.end_ns - found.sent_ns) / NS_PER_MS,
                response_length=found.size,
                exception=RequestFailed(found.error) if found.error else None,
                context={},
            )

        def ended() -> None:
            recorder.flush()
            if isinstance(environment.runner, WorkerRunner):
                environment.runner.send_message(DONE, {"run": run})
            else:
                gevent.spawn(_end, environment)

        share = Share(index, count, start_ns)
        session = self._session = Session(plan, target, recorder, share, tell, ended)
        running.callback(session.stop)
        running.callback(gevent.spawn(_every_second, Health(self._folder(run), session, plan.step), recorder).kill)

    def _spawned(self, **_: Any) -> None:
        if self._session is not None:
            self._session.work_alone()

    def _worker_done(self, msg: Message, **_: Any) -> None:
        self._done.add(msg.node_id)

    def _watch(self, environment: Environment, records: Path) -> None:
        """Tell how far it is; of a master, also see when all workers are done."""
        runner = environment.runner
        assert runner is not None
        while True:
            gevent.sleep(SECOND)
            total = runner.stats.total
            folder.write_progress(records, total.num_requests, total.num_failures)
            if isinstance(runner, MasterRunner):
                working = {worker.id for worker in (*runner.clients.running, *runner.clients.spawning)}
                if (self._done and working <= self._done) or not runner.worker_count:
                    gevent.spawn(_end, environment)
                    return

    def _stop(self, **_: Any) -> None:
        self._session = None
        self._running.close()

    def _plan(self, environment: Environment, users: int, run: str) -> Plan:
        options = vars(environment.parsed_options)
        return plan_of(self._scenario, users, run, {option.field: _value(option, options) for option in OPTIONS})

    def _folder(self, run: str) -> Path:
        return Path(self._records) if self._records else Path("evenkeel-load") / run


def _value(option: Option, options: dict[str, Any]) -> Any:
    """Return what was chosen; the web page gives texts, and an empty one for what was left open."""
    value = options.get(option.field)
    if isinstance(value, str):
        return read(option, value) if value else None
    return value


def _add_options(parser: LocustArgumentParser, **_: Any) -> None:
    for option in OPTIONS:
        parser.add_argument(
            f"--{option.name}",
            type=option.read,
            choices=option.choices or None,
            metavar=None if option.choices else option.metavar,
            help=option.about,
            is_secret=option.name in SECRET,
            env_var=f"EVENKEEL_LOAD_{option.field.upper()}",
        )


def _every_second(health: Health, recorder: Recorder) -> None:
    while True:
        gevent.sleep(SECOND)
        recorder.flush()
        health.note()


def _end(environment: Environment) -> None:
    assert environment.runner is not None
    if environment.web_ui is None:
        environment.runner.quit()
    else:
        environment.runner.stop()
