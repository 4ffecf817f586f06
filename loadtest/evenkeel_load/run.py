"""Run a load: Locust in its own processes, step by step, then merge and summarise the records."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from evenkeel_load.analysis.summary import MOST_LAG_MS, Summary, summarise
from evenkeel_load.errors import LoadConfigError, LoadFailed
from evenkeel_load.options import OPTIONS, SECRETS
from evenkeel_load.plan import make_plan
from evenkeel_load.records import folder as names
from evenkeel_load.records.merge import any_error, merge_claimed
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel_load.plan import Plan

LOOK_SECONDS = 0.25
END_SECONDS = 20.0
# Seconds for workers to find their master: on this machine, and on others, where they are started by hand.
MEET_SECONDS, MEET_BY_HAND_SECONDS = 20, 1800
REACH_SECONDS = 10.0
# A proxy that is busy with a long list of models gets this multiple of the timeout.
ALIVE, LONGER = "/health/liveliness", 6
UNAUTHORISED = (401, 403)
LOG = "locust.log"
LOOPBACK = "127.0.0.1"
MASTER_PORT = 5557
# Environment variables with options of Locust, which must not change a load.
FOREIGN = ("LOCUST_", "EVENKEEL_LOAD_")
# Options that this module sets.
OURS = ("records", "run_name", "step")


@dataclass(frozen=True)
class Fleet:
    """Locust's processes and their roles."""

    workers: int = 1
    """The number of sending processes on this machine."""
    master: int = 0
    """The number of workers on other machines that this master controls; 0 if it is no master."""
    worker_of: str = ""
    """The master of this worker, as host:port; empty if it is no worker."""
    port: int | None = None
    """The master's port."""

    def __post_init__(self) -> None:
        if self.master and self.worker_of:
            raise LoadConfigError("A load is either a --master or a --worker.", hint="Leave one of them out.")
        if self.master and self.workers > 1:
            raise LoadConfigError("A --master does not send.", hint="Give --workers to its workers.")
        if self.port and not self.master:
            raise LoadConfigError("Only a --master has a --master-port.", hint="A worker names it: --worker HOST:PORT.")
        port = self.worker_of.partition(":")[2]
        if self.worker_of and (self.worker_of.startswith(":") or (port and not _is_port(port))):
            raise LoadConfigError(f"--worker: {self.worker_of!r} is no HOST:PORT.", hint="An example is 10.0.0.5:5557.")

    def arguments(self) -> list[str]:
        """Return Locust's arguments."""
        if self.worker_of:
            host, _, port = self.worker_of.partition(":")
            arguments = ["--worker", "--master-host", host, "--master-port", port or str(MASTER_PORT)]
            return [*arguments, "--processes", str(self.workers)] if self.workers > 1 else arguments
        if self.master:
            bind = ["--master-bind-port", str(self.port or MASTER_PORT)]
            return [
                "--master",
                "--headless",
                "--expect-workers",
                str(self.master),
                *bind,
                *_wait_option(MEET_BY_HAND_SECONDS),
            ]
        if self.workers > 1:
            # Its own port, because workers of another load on this machine may use the default one.
            port = str(_free_port())
            master = ["--master-bind-host", LOOPBACK, "--master-bind-port", port, "--master-port", port]
            return ["--headless", "--processes", str(self.workers), *master, *_wait_option(MEET_SECONDS)]
        return ["--headless"]


@dataclass(frozen=True)
class Progress:
    """Progress of a step."""

    plan: Plan
    seconds: float
    answered: int
    failed: int
    waiting: bool
    """Whether all requests are answered, and created users wait for their removal."""


def _wait_option(seconds: int) -> list[str]:
    return ["--expect-workers-max-wait", str(seconds)]


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 2**16


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def scenario_file(name: str) -> Path:
    """Return the path of a scenario's locustfile: next to the package in a checkout, inside it if it is installed."""
    here = Path(__file__).parent
    inside = here / "scenarios" / f"{name}.py"
    return inside if inside.exists() else here.parent / "scenarios" / f"{name}.py"


def reach(host: str, api_key: str) -> None:
    """Raise unless the target answers a request for its models with this key."""
    try:
        headers = {"authorization": f"Bearer {api_key}"}
        with httpx.stream(
            "GET", f"{host}/v1/models", headers=headers, timeout=REACH_SECONDS, trust_env=False
        ) as answer:
            status = answer.status_code
    except httpx.ReadTimeout:
        _wait_for(host)
        return
    except httpx.HTTPError as error:
        raise LoadFailed(f"Nothing answers at {host}: {error}.", hint="Start it, or name another --host.") from error
    if status in UNAUTHORISED:
        raise LoadConfigError(f"{host} rejects the API key with {status}.", hint="Give a valid one with --api-key.")


def _wait_for(host: str) -> None:
    """Raise unless the target is alive. Listing hundreds of models may block it for long."""
    try:
        httpx.get(f"{host}{ALIVE}", timeout=LONGER * REACH_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        what = f"{host} accepts connections, but answers neither /v1/models nor {ALIVE}: {error}."
        raise LoadFailed(what, hint="Check what it is busy with, or name another --host.") from error


def prepare(records: Path) -> None:
    """Make the folder of a load."""
    if any(any(records.glob(kind)) for kind in names.OF_A_LOAD):
        raise LoadConfigError(f"{records} already has a load.", hint="Name another folder with --records.")
    try:
        records.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoadConfigError(
            f"{records} cannot be a folder of records: {error.strerror}.", hint="Name another with --records."
        ) from error


def run(
    scenario: str,
    host: str,
    users: tuple[int, ...],
    given: Mapping[str, Any],
    records: Path,
    *,
    fleet: Fleet,
    tell: Callable[[Progress], None],
    is_there: bool = False,
    most_lag_ms: float = MOST_LAG_MS,
) -> Summary | None:
    """Run a load step by step, and return its summary. The records are kept in any case.

    With `is_there`, the target is not checked first: listing many models is expensive. Requests that are sent more than
    `most_lag_ms` after they are due count as late. A master with workers on other
    machines has no records, and returns `None`.
    """
    plans = [
        make_plan(SCENARIOS[scenario], count, records.name, {**given, "step": step}) for step, count in enumerate(users)
    ]
    if not all(plan.expected != 0 for plan in plans):
        raise LoadConfigError("No request is due in that time.", hint="Give a longer --duration, or a higher --rate.")
    if fleet.master and len(plans) > 1:
        raise LoadConfigError("A --master runs one step.", hint="Give --users one number.")
    if not is_there:
        reach(host, plans[0].api_key)
    prepare(records)
    with names.claimed(records):
        for plan in plans:
            _step(plan, host, given, records, fleet, tell)
            if plan.scenario.until_errors and any_error(records):
                break
        if fleet.master and not any(records.glob(names.PARTS)):
            return None
        merge_claimed(records)
        return summarise(records, most_lag_ms)


def work(scenario: str, host: str, given: Mapping[str, Any], records: Path, fleet: Fleet) -> None:
    """Send the share of a load that a master on another machine assigns. The records are kept here."""
    prepare(records)
    with names.claimed(records), _locust(scenario, host, [], given, records, fleet) as process:
        process.wait()
    _check_end(process, records)


def _step(
    plan: Plan, host: str, given: Mapping[str, Any], records: Path, fleet: Fleet, tell: Callable[[Progress], None]
) -> None:
    # In an open load, one user of each process is the dispatcher. All users start at once, without Locust's ramp.
    users = max(fleet.workers, fleet.master) if plan.is_open else plan.users
    began = time.monotonic()
    (records / names.PROGRESS).unlink(missing_ok=True)
    arguments = ["--users", str(users), "--spawn-rate", str(users), "--step", str(plan.step), "--run-name", plan.run]
    arguments += ["--identities", str(plan.users)] if plan.is_open else []
    with _locust(plan.scenario.name, host, arguments, given, records, fleet) as process:
        while process.poll() is None:
            time.sleep(LOOK_SECONDS)
            progress = names.read_json(records / names.PROGRESS)
            fields = progress.get("answered", 0), progress.get("failed", 0), progress.get("waiting", False)
            tell(Progress(plan, time.monotonic() - began, *fields))
    _check_end(process, records)


def _check_end(process: subprocess.Popen[bytes], records: Path) -> None:
    """Raise if Locust failed, with its reason."""
    failure = names.read_json(records / names.FAILURE)
    if failure:
        raise LoadFailed(failure["what"], hint=failure["hint"])
    if process.returncode:
        raise LoadFailed(
            f"Locust ended with {process.returncode}.",
            hint=f"See {records / LOG}; if it is empty, the disk may be full.",
        )


@contextlib.contextmanager
def _locust(
    scenario: str, host: str, arguments: list[str], given: Mapping[str, Any], records: Path, fleet: Fleet
) -> Iterator[subprocess.Popen[bytes]]:
    """Run Locust on a scenario. It has ended when the block is left."""
    command = [sys.executable, "-m", "evenkeel_load.locust_side.lifeline", str(os.getpid())]
    command += ["--locustfile", str(scenario_file(scenario)), "--host", host, *fleet.arguments(), *arguments]
    command += ["--records", str(records.absolute()), "--only-summary"]
    secret = {option.field for option in SECRETS}
    for option in OPTIONS:
        value = given.get(option.field)
        if value is not None and option.field not in {*secret, *OURS}:
            command.append(f"--{option.name}={Path(value).absolute() if option.is_path else value}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment |= {option.env: given[option.field] for option in SECRETS if option.env and given.get(option.field)}
    with (records / LOG).open("ab") as log:
        process = subprocess.Popen(
            command,
            # Locust reads configuration files in both folders.
            cwd=records,
            env=environment | {"HOME": str(records.absolute())},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _terminate(process)


def _terminate(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
