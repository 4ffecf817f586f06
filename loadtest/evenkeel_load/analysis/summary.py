"""Summary of a folder of records: latencies, rates and errors by step and kind, and whether the rig was at its limit.

Latency counts from the due time of a request, service time from its sending. Both are of successful requests.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkeel_load.analysis.statistics import Spread, share_above, spread
from evenkeel_load.arrivals import CLOSED
from evenkeel_load.errors import LoadFailed
from evenkeel_load.records import folder as names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

NS_PER_MS, NS, MS = 1e6, 1e9, 1e3
ALL = "all"
SLOW_MS, VERY_SLOW_MS = 1000.0, 5000.0
FIRST_SHARE = 0.05
# Bounds beyond which a run measures the rig rather than the target.
MOST_LAG_MS, MOST_LATE, LEAST_ACHIEVED, MOST_CPU = 10.0, 0.01, 0.98, 0.85
# Fewer late requests are noise, unless they are most of the requests.
LEAST_LATE, MOST_OF_THEM = 5, 0.5
# A process that records each second sleeps a little longer.
SECOND, MANY_SECONDS = 0.9, 20
# A load with a duration lasts at least this share of it.
LEAST_LASTED = 0.9
UNREACHED = {"refused", "unresolved", "network"}
OF_A_PLAN = {"step", "scenario", "host", "arrivals", "users", "expected", "span", "duration", "processes"}
COLUMNS = [
    "step",
    "call",
    "intended_ns",
    "sent_ns",
    "first_byte_ns",
    "first_token_ns",
    "last_token_ns",
    "end_ns",
    "chunk_ns",
    "error",
    "added_ns",
    "retries",
]


@dataclass(frozen=True)
class Calls:
    """The requests of one kind."""

    requests: int
    errors: dict[str, int]
    """Number of errors by class."""
    retried: int
    """Number of requests that the proxy retried."""
    above_1s: float
    above_5s: float
    """Shares of latencies above one and five seconds."""
    first_above_5s: float
    """The same, of requests that were due in the first twentieth of the time: those that meet at the start."""
    first_slowest_ms: float | None
    """The longest latency of those, if any was successful."""
    latency: Spread | None
    service: Spread | None
    first_byte: Spread | None
    first_token: Spread | None
    gap: Spread | None
    """Time between two chunks of a stream with content."""
    added: Spread | None
    """Latency without the mock's own time; only if the proxy passes on the mock's headers."""

    @property
    def error_rate(self) -> float:
        """Share of failed requests."""
        return sum(self.errors.values()) / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class Step:
    """A step of a load: a run with one number of users."""

    step: int
    arrivals: str
    users: int
    expected: int | None
    seconds: float
    """From the first request to the last answer."""
    offered: float | None
    """Requests per second of the schedule; `None` for a closed load."""
    achieved: float
    """Requests per second that were sent."""
    answered: float
    """Requests per second that ended, successful or not."""
    succeeded: float
    """Requests per second that were successful."""
    lag: Spread | None
    """Delay of requests after their due time; only for an open load."""
    late: float
    """Share of requests that were sent too late."""
    behind_ms: float
    """Delay of the last request against the offered rate; only for an open load."""
    calls: dict[str, Calls]
    limited: tuple[str, ...]
    """Reasons why the run measured the rig rather than the target."""


@dataclass(frozen=True)
class Summary:
    """All steps of a folder."""

    scenario: str
    host: str
    steps: tuple[Step, ...]

    @property
    def limited(self) -> tuple[str, ...]:
        """Reasons of all steps why the rig was at its limit."""
        return tuple(dict.fromkeys(why for step in self.steps for why in step.limited))

    def document(self) -> dict[str, Any]:
        """Return the summary as a JSON document."""
        fields = asdict(self)
        for step, of_step in zip(self.steps, fields["steps"], strict=True):
            for name, calls in step.calls.items():
                of_step["calls"][name]["error_rate"] = calls.error_rate
        return fields | {"limited": list(self.limited)}


def summarise(folder: Path, most_lag_ms: float = MOST_LAG_MS) -> Summary:
    """Summarise the merged records of a folder; requests with a lag above `most_lag_ms` are late."""
    plans = [names.read_json(path) for path in folder.glob(names.PLANS)]
    if not plans or not all(plan.keys() >= OF_A_PLAN for plan in plans):
        raise LoadFailed(
            f"{folder} has no plan, or one that cannot be read.", hint="Keep plan-*.json with its records."
        )
    try:
        table = pq.read_table(folder / names.RECORDS, columns=COLUMNS)
    except (pa.ArrowException, OSError) as error:
        raise LoadFailed(f"{folder / names.RECORDS} cannot be read: {error}.", hint="Name another folder.") from error
    health = process_health(folder)
    plans.sort(key=lambda plan: int(plan["step"]))
    steps = []
    for plan in plans:
        records = table.filter(pc.equal(table["step"], plan["step"])) if len(plans) > 1 else table
        steps.append(_step(plan, records, health.get(plan["step"], ProcessHealth()), most_lag_ms))
    return Summary(plans[0]["scenario"], plans[0]["host"], tuple(steps))


def _step(plan: dict[str, Any], records: pa.Table, health: ProcessHealth, most_lag_ms: float) -> Step:
    intended, sent, end = (_numbers(records, name) for name in ("intended_ns", "sent_ns", "end_ns"))
    count = len(records)
    is_open = plan["arrivals"] != CLOSED
    sending = float(sent.max() - intended.min()) / NS if count else 0.0
    seconds = float(end.max() - intended.min()) / NS if count else 0.0
    lag_ms = (sent - intended) / NS_PER_MS
    kinds = pc.unique(records["call"]).to_pylist()
    calls = {name: _calls(records.filter(pc.equal(records["call"], name))) for name in sorted(kinds)}
    if len(kinds) > 1:
        calls[ALL] = _calls(records)
    # The number of gaps is one less than that of requests.
    offered = (plan["expected"] - 1) / plan["span"] if plan["span"] else None
    step = Step(
        step=plan["step"],
        arrivals=plan["arrivals"],
        users=plan["users"],
        expected=plan["expected"],
        seconds=seconds,
        offered=offered,
        achieved=(count - 1) / sending if sending else 0.0,
        answered=count / seconds if seconds else 0.0,
        succeeded=records["error"].null_count / seconds if seconds else 0.0,
        lag=spread(lag_ms) if is_open else None,
        behind_ms=(sending - (count - 1) / offered) * MS if offered else 0.0,
        late=share_above(lag_ms, most_lag_ms) if is_open else 0.0,
        calls=calls,
        limited=(),
    )
    return replace(step, limited=tuple(_limits(step, plan, count, health, most_lag_ms)))


def _calls(records: pa.Table) -> Calls:
    error = records["error"]
    counts = pc.value_counts(error.drop_null()).to_pylist()
    good = records.filter(pc.is_null(error))
    sent, first_byte, end = (_numbers(good, name) for name in ("sent_ns", "first_byte_ns", "end_ns"))
    first_token = _numbers(good, "first_token_ns")
    intended = _numbers(good, "intended_ns")
    latency = (end - intended) / NS_PER_MS
    begin, span = (intended.min(), np.ptp(intended)) if len(intended) else (0.0, 0.0)
    first = latency[intended <= begin + span * FIRST_SHARE]
    return Calls(
        requests=len(records),
        errors={entry["values"]: entry["counts"] for entry in sorted(counts, key=lambda entry: -entry["counts"])},
        retried=int(pc.sum(pc.greater(records["retries"], 0)).as_py() or 0),
        above_1s=share_above(latency, SLOW_MS),
        above_5s=share_above(latency, VERY_SLOW_MS),
        first_above_5s=share_above(first, VERY_SLOW_MS),
        first_slowest_ms=float(first.max()) if len(first) else None,
        latency=spread(latency),
        service=spread((end - sent) / NS_PER_MS),
        first_byte=spread((first_byte - sent) / NS_PER_MS),
        first_token=spread(_without_nan(first_token - sent) / NS_PER_MS),
        gap=spread(_gaps(good) / NS_PER_MS),
        added=spread(_without_nan(_numbers(good, "added_ns")) / NS_PER_MS),
    )


def _limits(step: Step, plan: dict[str, Any], count: int, health: ProcessHealth, most_lag_ms: float) -> Iterator[str]:
    if not count:
        yield "no request was sent"
        return
    if step.expected is not None and count < step.expected:
        yield f"{step.expected - count:,} of {step.expected:,} requests left no record: a process died, or was stopped"
    elif step.expected is not None and count > step.expected:
        yield f"{count - step.expected:,} records more than requests: two loads have met in one folder"
    elif health.ended < plan["processes"]:
        yield f"{plan['processes'] - health.ended} of {plan['processes']} load processes died"
    elif step.expected is None and count != plan.get("requests") and step.seconds < LEAST_LASTED * plan["duration"]:
        yield f"stopped after {step.seconds:,.1f} of {plan['duration']:,.1f} s"
    if step.late > MOST_LATE and (round(step.late * count) >= LEAST_LATE or step.late > MOST_OF_THEM):
        may = f"by more than {most_lag_ms:.0f} ms ({MOST_LATE:.0%} may be)"
        yield f"requests were sent late: {step.late:.1%} of them {may}"
    if step.offered and step.achieved < LEAST_ACHIEVED * step.offered and step.behind_ms > most_lag_ms:
        yield f"only {step.achieved:,.1f} of {step.offered:,.1f} requests a second could be sent"
    if health.cpu > MOST_CPU:
        yield f"a load process was busy for {health.cpu:.0%} of a second: add --workers, or lower the rate"
    if all(calls.error_rate == 1 and set(calls.errors) <= UNREACHED for calls in step.calls.values()):
        yield "the target could not be reached"


@dataclass(frozen=True)
class Machine:
    """Mean CPU use of a machine during a step."""

    busy: float
    """Used cores, by all programs."""
    stolen: float
    """Cores that the hypervisor took away."""
    cores: int


@dataclass
class ProcessHealth:
    """State of the load processes of a step."""

    cpu: float = 0.0
    """CPU use of the busiest process: the 95th percentile of its seconds, or the mean of a few."""
    ended: int = 0
    """Number of processes that ended regularly."""
    in_flight: int = 0
    """Maximum of requests in flight, sampled once a second by each process and added up."""
    machine: Machine | None = None
    """Their machine; of several, the one with the highest use."""


def process_health(folder: Path) -> dict[int, ProcessHealth]:
    """Return the state of the load processes by step."""
    by_step: dict[int, ProcessHealth] = {}
    for path in folder.glob(names.HEALTH):
        lines = [*_whole_lines(path)]
        for step in {line["step"] for line in lines}:
            own = [line for line in lines if line["step"] == step]
            health = by_step.setdefault(step, ProcessHealth())
            health.cpu = max(health.cpu, _busy(own))
            health.ended += own[-1]["over"]
            health.in_flight += max(line.get("in_flight", 0) for line in own)
            machines = [machine for machine in (health.machine, _machine(own)) if machine is not None]
            health.machine = max(machines, key=lambda machine: machine.busy / machine.cores, default=None)
    return by_step


def _busy(lines: Sequence[dict[str, Any]]) -> float:
    """Return the CPU use of a process, in cores."""
    seconds = sum(line["seconds"] for line in lines)
    whole = [line["cpu"] / line["seconds"] for line in lines if line["seconds"] >= SECOND]
    if len(whole) >= MANY_SECONDS:
        return float(np.quantile(whole, 0.95))
    # A process that ran for less than a second was not busy.
    return sum(line["cpu"] for line in lines) / seconds if seconds >= SECOND else 0.0


def _machine(lines: Sequence[dict[str, Any]]) -> Machine | None:
    """Return the CPU use of the machine, as a process saw it."""
    complete = [line for line in lines if {"busy", "stolen", "cores"} <= set(line) and line["seconds"] > 0]
    seconds = sum(line["seconds"] for line in complete)
    if not seconds:
        return None
    busy, stolen = (sum(line[name] for line in complete) / seconds for name in ("busy", "stolen"))
    return Machine(busy, stolen, complete[0]["cores"])


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the valid lines of a process. A killed process leaves an incomplete one."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            fields = json.loads(line)
            if isinstance(fields, dict) and {"step", "cpu", "seconds", "over"} <= set(fields):
                yield fields


def _numbers(records: pa.Table, name: str) -> Numbers:
    column = records[name]
    # A float has today's nanoseconds to a quarter of a microsecond, which is enough.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _without_nan(values: Numbers) -> Numbers:
    return values[~np.isnan(values)]


def _gaps(records: pa.Table) -> Numbers:
    """Return the times between consecutive chunks with content, of all streams."""
    gaps = []
    for batch in records.select(["chunk_ns", "first_token_ns", "last_token_ns"]).to_batches():
        chunks, first, last = batch.columns
        times = _plain(chunks.flatten())
        stream = np.repeat(np.arange(len(batch)), _plain(pc.list_value_length(chunks)))
        says = (times >= _plain(first)[stream]) & (times <= _plain(last)[stream])
        times, stream = times[says], stream[says]
        gaps.append(np.diff(times)[stream[1:] == stream[:-1]].astype(np.float64))
    return np.concatenate(gaps) if gaps else np.empty(0)


def _plain(column: pa.Array) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return values
