"""`evenkeel mock --calibrate`: from which load on the mock, rather than what stands before it, is the bottleneck.

Starts a mock as it was configured, but without waits, accounts and faults: what remains is its own work. First what
a request and a chunk cost in CPU, then a ladder of rates up to what that cost allows, until a rung does not hold.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import yaml

from evenkeel_mock.errors import MockFailed
from evenkeel_mock.probe import Cpu, ask, free_port, listen, offer, request_bytes
from evenkeel_mock.server.lifeline import LIFELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel_mock.server.server import Options

    Say = Callable[[str], None]

CONNECTIONS = 64
ROUNDS, TIMES = 5, 100
# Of what the cost seems to allow, which is a little less under a full load than under a light one.
SHARES = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
RUNG_SECONDS = 2.0
GAP_MS, CHUNKS = 20.0, 50
FEW_STREAMS = 200
# A rung holds if nearly all is answered, soon, and the mock has air left.
LEAST_ANSWERED, MOST_P99_MS, MOST_CPU = 0.98, 15.0, 0.85
# Beyond this the probe itself is late, and nothing follows about the mock.
MOST_LAG_MS = 5.0
START_SECONDS = 15.0
MICRO = 1e6
BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello there, how is the sea today?"}]}
FREE = {"accounts": [], "others": "allow", "faults": []}


@dataclass(frozen=True)
class Rung:
    """One rate, and how the mock bore it."""

    offered: int
    """Requests or chunks a second."""
    answered: float
    """The share of them that came in time."""
    cpu: float
    """The share of a core that each worker used."""
    p50_ms: float
    p99_ms: float
    """Latency in milliseconds, counted from the moment a request was due."""
    probe_late: bool = False
    """Whether the probe could not keep the rate itself."""

    @property
    def holds(self) -> bool:
        """Whether the mock kept up with this rate."""
        return self.answered >= LEAST_ANSWERED and self.p99_ms <= MOST_P99_MS and self.cpu <= MOST_CPU


@dataclass(frozen=True)
class Ladder:
    """All rungs of one kind of load."""

    kind: str
    cpu_us: float
    """CPU time of one request or chunk, in microseconds."""
    rungs: tuple[Rung, ...]

    @property
    def capacity(self) -> int:
        """The highest rate that held; 0 if none did."""
        return max((rung.offered for rung in self.rungs if rung.holds), default=0)

    @property
    def limit_reached(self) -> bool:
        """Whether the mock, rather than the probe, failed to keep up with a rate."""
        return any(not rung.holds and not rung.probe_late for rung in self.rungs)


@dataclass(frozen=True)
class Calibration:
    """Highest rates that the mock sustains on this machine."""

    workers: int
    requests: Ladder
    chunks: Ladder

    def document(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        ladders = {
            ladder.kind: asdict(ladder) | {"capacity_per_second": ladder.capacity, "found": ladder.limit_reached}
            for ladder in (self.requests, self.chunks)
        }
        return {"workers": self.workers} | ladders


def calibrate(options: Options, settings: Mapping[str, Any], say: Say) -> Calibration:
    """Measure the mock, and pass each result to `say` as a line of text."""
    # SIGTERM becomes `SystemExit`, so that the `with` blocks below stop the processes that they started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with running(options, working(settings, 0.0)) as (port, cpu):
        requests = _requests(port, cpu, options.workers, say)
    with running(options, working(settings, GAP_MS) | {"answers": {}}) as (port, cpu):
        chunks = _chunks(port, cpu, options.workers, say)
    return Calibration(options.workers, requests, chunks)


def working(settings: Mapping[str, Any], gap_ms: float) -> dict[str, Any]:
    """Return settings without what makes a mock wait or refuse."""
    latency = {**(settings.get("latency") or {})} | {"ttft_ms": 0, "gap_ms": gap_ms, "servers": 0}
    if gap_ms:
        latency["length"] = CHUNKS
    return {**settings, **FREE, "latency": latency}


def verdict(ladder: Ladder, what: str) -> str:
    """Return the result of a ladder as a sentence; `what` names the unit of load."""
    if not ladder.capacity:
        return f"No rate of {what} held. Something else keeps this machine busy: try again."
    if not ladder.limit_reached:
        return f"The mock is not the bottleneck up to {ladder.capacity:,} {what} a second; more was not possible here."
    return f"The mock becomes the bottleneck beyond {ladder.capacity:,} {what} a second."


@contextlib.contextmanager
def running(options: Options, settings: Mapping[str, Any]) -> Iterator[tuple[int, Cpu]]:
    """Run a separate mock. Yield its port and the CPU meter of its processes."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="evenkeel-calibrate-") as folder:
        path = Path(folder) / "mock.yaml"
        path.write_text(yaml.safe_dump(dict(settings)), encoding="utf-8")
        command = [sys.executable, "-m", "evenkeel_mock", "--port", str(port), "--config", str(path)]
        command += ["--workers", str(options.workers), "--journal", str(options.journal_records)]
        environment = os.environ | {LIFELINE: str(os.getpid())}
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
            try:
                _wait(process, port)
                yield port, Cpu(process.pid)
            finally:
                process.terminate()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            ask(port, _request(stream=False), 1, 1)
            return
        time.sleep(0.05)
    raise MockFailed("The mock to be measured did not start.", hint="Run it without --calibrate to see the error.")


def _requests(port: int, cpu: Cpu, workers: int, say: Say) -> Ladder:
    request = _request(stream=False)
    ask(port, request, TIMES, CONNECTIONS)
    costs = []
    for _ in range(ROUNDS):
        before = cpu.seconds()
        ask(port, request, TIMES, CONNECTIONS)
        costs.append((cpu.seconds() - before) / (TIMES * CONNECTIONS))
    cost = statistics.median(costs)
    say(f"A small request costs {cost * MICRO:.1f} us of CPU.")

    def rung(rate: float) -> Rung:
        before = cpu.seconds()
        offered = offer(port, request, rate, RUNG_SECONDS, CONNECTIONS)
        used = (cpu.seconds() - before) / offered.seconds / workers
        late = _p99(offered.lag_ms) > MOST_LAG_MS
        return _rung(rate, offered.answered / int(rate * RUNG_SECONDS), used, offered.latency_ms, probe_late=late)

    return _climb("requests", cost, workers, rung, say)


def _chunks(port: int, cpu: Cpu, workers: int, say: Say) -> Ladder:
    request = _request(stream=True)
    before = cpu.seconds()
    listen(port, request, FEW_STREAMS, GAP_MS)
    cost = (cpu.seconds() - before) / (FEW_STREAMS * CHUNKS)
    say(f"A chunk of a stream costs {cost * MICRO:.1f} us of CPU.")

    def rung(rate: float) -> Rung:
        streams = max(1, int(rate * GAP_MS / 1000))
        before, start = cpu.seconds(), time.monotonic()
        try:
            late = listen(port, request, streams, GAP_MS)
        except TimeoutError as error:
            raise MockFailed(f"The mock under load: {error}.", hint="Try again on a quieter machine.") from error
        used = (cpu.seconds() - before) / (time.monotonic() - start) / workers
        return _rung(rate, len(late) / (streams * CHUNKS), used, late)

    return _climb("chunks", cost, workers, rung, say)


def _climb(kind: str, cost: float, workers: int, measure: Callable[[float], Rung], say: Say) -> Ladder:
    rungs = []
    for share in SHARES:
        rung = measure(share * workers / cost)
        rungs.append(rung)
        say(
            f"  {rung.offered:>9,} {kind}/s   {rung.answered:7.1%} answered   {rung.cpu:4.0%} of a core   "
            f"p50 {rung.p50_ms:6.1f} ms   p99 {rung.p99_ms:6.1f} ms   "
            + ("holds" if rung.holds else "the probe is late" if rung.probe_late else "does not hold")
        )
        if not rung.holds:
            break
    return Ladder(kind, cost * MICRO, tuple(rungs))


def _rung(rate: float, answered: float, cpu: float, times_ms: list[float], *, probe_late: bool = False) -> Rung:
    cuts = statistics.quantiles(times_ms or [0.0, 0.0], n=100, method="inclusive")
    return Rung(int(rate), answered, cpu, cuts[49], cuts[98], probe_late)


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[98]


def _request(*, stream: bool) -> bytes:
    return request_bytes(orjson.dumps(BODY | {"stream": True} if stream else BODY))
