"""Connection of Locust and a load: options, users, shares of processes, and the end.

A master sends each worker its share before the users start, and ends the run when all remaining workers are done.
Without workers, one process is both.

Runs in Locust's process only.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gevent
import pyarrow as pa
from gevent.event import Event
from locust import events
from locust.runners import MasterRunner, WorkerRunner

from evenkeel_load.clock import NS, now_ns
from evenkeel_load.entities import entities
from evenkeel_load.errors import LoadConfigError, LoadError, LoadFailed
from evenkeel_load.http.address import address
from evenkeel_load.http.client import Target
from evenkeel_load.locust_side.health import Health
from evenkeel_load.locust_side.session import Session, Share
from evenkeel_load.options import OPTIONS, Option
from evenkeel_load.plan import make_plan
from evenkeel_load.records import folder
from evenkeel_load.records.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.argument_parser import LocustArgumentParser
    from locust.env import Environment
    from locust.rpc import Message

    from evenkeel_load.locust_side.session import TaskUser
    from evenkeel_load.plan import Plan
    from evenkeel_load.records.outcome import Outcome

# Arrow imports pandas with its first array, if that is installed. During a load, this would block for a second.
pa.array([])

SHARE, DONE = "evenkeel-share", "evenkeel-done"
# Time for the message to reach all workers.
LEAD_NS = NS
# All workers read a long trace at the same time, and more slowly than the master did.
READ_FACTOR = 3
# A worker whose clock differs more than this from the master's uses its own.
MOST_SKEW_NS = 5 * NS
SECOND = 1.0
# Time to remove the remaining entities after a second Ctrl-C.
LEAVE_SECONDS = 10.0
NS_PER_MS = 1_000_000
FAILED = 3
"""Exit code of a load that could not be completed."""

log = logging.getLogger("evenkeel")
# Locust shows messages of all libraries, and this one has a line for each created user.
logging.getLogger("httpx").setLevel(logging.WARNING)


class RequestFailed(Exception):
    """A failed request. Its text is the class of the error."""


class Harness:
    """Listener of Locust's events that runs a load. Each process has one."""

    def __init__(self) -> None:
        self._records: str | None = None
        self._folder = Path()
        self._share: dict[str, Any] = {}
        self._session: Session | None = None
        self._done: set[str] = set()
        self._failed = self._complete = False
        self._interrupted: object = None
        self._running = contextlib.ExitStack()
        self._over, self._leaving = Event(), Event()
        self._over.set()
        events.init_command_line_parser.add_listener(_add_options)
        events.init.add_listener(self._init)
        events.test_start.add_listener(self._start)
        events.spawning_complete.add_listener(self._spawned)
        events.test_stop.add_listener(self._stop)
        events.quitting.add_listener(self._leave)

    def work(self, user: TaskUser) -> None:
        """Send the requests of a user that Locust started."""
        if self._session is not None:
            self._session.work(user)

    def _init(self, environment: Environment, **_: Any) -> None:
        if environment.parsed_options is not None:
            # A worker gets its options from the master, except for its folder.
            self._records = environment.parsed_options.records
        # Failed requests are a result. Criteria decide whether they are too many.
        environment.process_exit_code = 0
        if isinstance(environment.runner, WorkerRunner):
            environment.runner.register_message(SHARE, lambda msg, **_: self._share.update(msg.data))
        elif isinstance(environment.runner, MasterRunner):
            environment.runner.register_message(DONE, lambda msg, **_: self._worker_done(environment, msg))

    def _start(self, environment: Environment, **_: Any) -> None:
        self._failed = self._complete = False
        if self._interrupted is None:
            # As an exception, Ctrl-C could interrupt the writing of a record; as Locust's signal to stop it cannot.
            self._interrupted = gevent.signal_handler(signal.SIGINT, os.kill, os.getpid(), signal.SIGTERM)
        try:
            if isinstance(environment.runner, WorkerRunner):
                if not self._share:
                    log.warning("This worker connected too late. The load goes on without it.")
                    environment.runner.send_message(DONE, {})
                    return
                self._folder = self._folder_of(self._share["run"])
                self._begin(environment, **self._share)
            else:
                self._direct(environment)
        except Exception as error:  # noqa: BLE001  # Locust would log a listener's error and go on
            self._fail(environment, error)

    def _direct(self, environment: Environment) -> None:
        """Start a load in this process or in all workers."""
        runner, options = environment.runner, environment.parsed_options
        assert runner is not None
        assert options is not None
        run = options.run_name or f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"[:-3]
        self._folder = self._folder_of(run)
        # A second start from the web page is another step.
        step = len(list(self._folder.glob(folder.PLANS))) if options.step is None else int(options.step)
        share: dict[str, Any] = {
            "scenario": _user_class(environment).scenario.name,
            "users": runner.target_user_count,
            "run": run,
            "step": step,
        }
        host = address(environment.host or "")
        began = now_ns()
        plan = self._plan(environment, **share)
        plan.prepare()
        lead_ns = LEAD_NS + READ_FACTOR * (now_ns() - began)
        self._running.enter_context(entities(plan, host, lambda: self._let_spend_be_written(plan)))
        workers = (
            sorted(runner.clients.ready, key=lambda worker: str(worker.id)) if isinstance(runner, MasterRunner) else []
        )
        processes = max(1, len(workers))
        folder.write_plan(self._folder, plan, host, processes)
        self._running.callback(gevent.spawn(self._guarded, environment, self._watch, environment).kill)
        announced_ns = now_ns()
        if plan.start_at is not None:
            lead_ns = max(lead_ns, plan.start_at - announced_ns)
        share |= {"count": processes, "announced_ns": announced_ns, "lead_ns": lead_ns}
        if isinstance(runner, MasterRunner):
            self._done.clear()
            for index, worker in enumerate(workers):
                runner.send_message(SHARE, {**share, "index": index}, client_id=worker.id)
        else:
            self._begin(environment, **share, index=0)

    def _begin(
        self, environment: Environment, *, index: int, count: int, announced_ns: int, lead_ns: int, **share: Any
    ) -> None:
        """Begin to send this process's share of a load."""
        user_class = _user_class(environment)
        if abs(announced_ns - now_ns()) > MOST_SKEW_NS:
            log.warning("The clocks of master and worker differ. This worker starts by its own.")
            announced_ns = now_ns()
        plan = self._plan(environment, **share)
        plan.prepare()
        recorder = Recorder(self._folder)
        self._running.callback(recorder.close)
        target = Target(address(environment.host or ""), connections=plan.connections, timeout=plan.timeout)
        self._running.callback(target.close)
        target.warm_up()

        start_ns = announced_ns + lead_ns

        def report(call: str, outcome: Outcome) -> None:
            environment.events.request.fire(
                request_type="POST",
                name=call,
                response_time=(outcome.end_ns - outcome.sent_ns) / NS_PER_MS,
                response_length=outcome.size,
                exception=RequestFailed(outcome.error) if outcome.error else None,
                context={},
            )

        def ended() -> None:
            self._guarded(environment, recorder.flush)
            if isinstance(environment.runner, WorkerRunner):
                environment.runner.send_message(DONE, {})
            else:
                self._complete = True
                gevent.spawn(_quit, environment)

        def failed(error: Exception) -> None:
            self._fail(environment, error)

        session = self._session = Session(
            plan,
            target,
            recorder,
            Share(index, count, start_ns),
            lambda: user_class(environment),
            report,
            ended,
            failed,
        )
        health = Health(self._folder, session, plan.step)
        self._running.callback(health.note, over=True)
        self._running.callback(session.stop)
        self._running.callback(gevent.spawn(self._guarded, environment, _every_second, health, recorder, start_ns).kill)

    def _spawned(self, **_: Any) -> None:
        if self._session is not None:
            self._session.start_idle_users()

    def _worker_done(self, environment: Environment, msg: Message) -> None:
        if msg.data:
            self._fail(environment, LoadFailed(msg.data["what"], hint=msg.data["hint"]))
        self._done.add(msg.node_id)

    def _watch(self, environment: Environment) -> None:
        """Write the progress once a second. In a master, also wait until all workers are done."""
        runner = environment.runner
        assert runner is not None
        while True:
            gevent.sleep(SECOND)
            total = runner.stats.total
            folder.write_progress(self._folder, total.num_requests, total.num_failures)
            if isinstance(runner, MasterRunner):
                working = {worker.id for worker in (*runner.clients.running, *runner.clients.spawning)}
                if (self._done and working <= self._done) or not runner.worker_count:
                    self._complete = True
                    gevent.spawn(_quit, environment)
                    return

    def _stop(self, environment: Environment, **_: Any) -> None:
        self._over.clear()
        self._session = None
        try:
            self._running.close()
        except Exception as error:  # noqa: BLE001  # as in `_start`
            self._fail(environment, error)
        finally:
            self._over.set()

    def _leave(self, **_: Any) -> None:
        # Locust would not wait for the end of `_stop` after a signal.
        self._leaving.set()
        self._over.wait(LEAVE_SECONDS)

    def _let_spend_be_written(self, plan: Plan) -> None:
        # After Ctrl-C, the user does not want to wait.
        if self._complete and plan.remove_after:
            progress = folder.read_json(self._folder / folder.PROGRESS)
            folder.write_progress(self._folder, progress.get("answered", 0), progress.get("failed", 0), waiting=True)
            self._leaving.wait(plan.remove_after)

    def _guarded(self, environment: Environment, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001  # else the error of a greenlet would only be logged
            self._fail(environment, error)

    def _fail(self, environment: Environment, error: Exception) -> None:
        """End the load with an error."""
        if self._failed:
            return
        self._failed = True
        environment.process_exit_code = FAILED
        if isinstance(error, LoadError):
            log.error("%s", error)
        else:
            log.error("The load cannot go on.", exc_info=error)
            error = LoadFailed(f"The load cannot go on: {error!r}.", hint="See its log.")
        # On a full disk, only the exit code reports it.
        with contextlib.suppress(OSError):
            folder.write_failure(self._folder, error)
        if isinstance(environment.runner, WorkerRunner):
            environment.runner.send_message(DONE, {"what": error.what, "hint": error.hint})
            return
        # Later, because the runner cannot stop before it has started.
        gevent.spawn_later(SECOND, _quit, environment)

    def _plan(self, environment: Environment, *, scenario: str, users: int, run: str, step: int) -> Plan:
        options = vars(environment.parsed_options)
        given = {option.field: _value(option, options) for option in OPTIONS}
        user_class = _user_class(environment)
        if scenario != user_class.scenario.name:
            raise LoadConfigError(
                f"The master's scenario is {scenario}, this worker's is {user_class.scenario.name}.",
                hint="Start both with the same one.",
            )
        return make_plan(user_class.scenario, users, run, given | {"step": step}, user_class.user_modes)

    def _folder_of(self, run: str) -> Path:
        return Path(self._records) if self._records else Path("evenkeel-load") / run


def _user_class(environment: Environment) -> Any:
    """Return the class of the locustfile."""
    classes: list[Any] = [user_class for user_class in environment.user_classes if hasattr(user_class, "calls")]
    if len(classes) != 1:
        names = ", ".join(user_class.__name__ for user_class in classes) or "none"
        raise LoadConfigError(
            f"A locustfile needs one class of LoadUser, and this one has {names}.",
            hint="Write several tasks in one class, or name the class after the options of locust.",
        )
    (user_class,) = classes
    if not user_class.calls.things:
        raise LoadConfigError(
            f"{user_class.__name__} has no task.", hint="Write a method with @task that calls self.post."
        )
    return user_class


def _value(option: Option, options: dict[str, Any]) -> Any:
    """Return what was chosen; the web page gives texts, and an empty one for what was left open."""
    value = options.get(option.field)
    if isinstance(value, str):
        return option.parse(value) if value else None
    return value


def _add_options(parser: LocustArgumentParser, **_: Any) -> None:
    for option in OPTIONS:
        parser.add_argument(
            f"--{option.name}",
            type=option.read,
            choices=option.choices or None,
            metavar=None if option.choices else option.metavar,
            help=option.about,
            is_secret=option.secret,
            env_var=option.env,
        )


def _every_second(health: Health, recorder: Recorder, start_ns: int) -> None:
    gevent.sleep(max(0.0, (start_ns - now_ns()) / NS))
    health.begin()
    while True:
        gevent.sleep(SECOND)
        recorder.flush()
        health.note()


def _quit(environment: Environment) -> None:
    assert environment.runner is not None
    if environment.web_ui is None:
        environment.runner.quit()
    else:
        environment.runner.stop()
