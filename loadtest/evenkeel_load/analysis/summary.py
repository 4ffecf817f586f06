"""What a folder of records says: per step and kind of request, how long, how often, and whether the rig was at fault.

Latency counts from when a request was intended, service from when it was sent; both of requests that succeeded.
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
# What makes a run say more about the rig than about what was loaded.
MOST_LAG_MS, MOST_LATE, LEAST_ACHIEVED, MOST_CPU = 10.0, 0.01, 0.98, 0.85
# Fewer late requests are an accident of the machine's, unless they are the most of them.
LEAST_LATE, MOST_OF_THEM = 5, 0.5
# A process that notes each second sleeps a little longer.
SECOND, MANY_SECONDS = 0.9, 20
# A load that time ends lasts as long as it should, but for this.
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
    """By class."""
    retried: int
    """How many of them the proxy tried more than once."""
    above_1s: float
    above_5s: float
    """Shares of the latencies."""
    latency: Spread | None
    service: Spread | None
    first_byte: Spread | None
    first_token: Spread | None
    gap: Spread | None
    """Between two chunks of a stream that say something."""
    added: Spread | None
    """By what the mock itself did not take; only where its headers came through."""

    @property
    def error_rate(self) -> float:
        """The share that failed."""
        return sum(self.errors.values()) / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class Step:
    """One run of several in a folder."""

    step: int
    arrivals: str
    users: int
    expected: int | None
    seconds: float
    """From the first request to the last answer."""
    offered: float | None
    """Requests a second that the schedule asks for; None of a closed load."""
    achieved: float
    """Requests a second that were sent."""
    answered: float
    """Requests a second that ended, well or not."""
    succeeded: float
    """Requests a second that ended well."""
    lag: Spread | None
    """By how much requests were sent later than intended; of an open load."""
    late: float
    """The share of requests that were sent too late."""
    behind_ms: float
    """By how much later than the offered rate asks for all of them were sent; of an open load."""
    calls: dict[str, Calls]
    limited: tuple[str, ...]
    """Why the run says more about the rig than about what was loaded; empty if it does not."""


@dataclass(frozen=True)
class Summary:
    """All steps in a folder."""

    scenario: str
    host: str
    steps: tuple[Step, ...]

    @property
    def limited(self) -> tuple[str, ...]:
        """Why the rig was at fault; empty if it was not."""
        return tuple(dict.fromkeys(why for step in self.steps for why in step.limited))

    def document(self) -> dict[str, Any]:
        """Return it for a program."""
        found = asdict(self)
        for step, told in zip(self.steps, found["steps"], strict=True):
            for name, calls in step.calls.items():
                told["calls"][name]["error_rate"] = calls.error_rate
        return found | {"limited": list(self.limited)}


def summarise(folder: Path, most_lag_ms: float = MOST_LAG_MS) -> Summary:
    """Read the merged records of a folder; what asks about seconds may let more requests be late by milliseconds."""
    plans = [names.read_json(path) for path in folder.glob(names.PLANS)]
    if not plans or not all(plan.keys() >= OF_A_PLAN for plan in plans):
        raise LoadFailed(
            f"{folder} has no plan, or one that cannot be read.", hint="Keep plan-*.json with its records."
        )
    try:
        table = pq.read_table(folder / names.RECORDS, columns=COLUMNS)
    except (pa.ArrowException, OSError) as error:
        raise LoadFailed(f"{folder / names.RECORDS} cannot be read: {error}.", hint="Name another folder.") from error
    fared = fares(folder)
    plans.sort(key=lambda plan: int(plan["step"]))
    steps = []
    for plan in plans:
        records = table.filter(pc.equal(table["step"], plan["step"])) if len(plans) > 1 else table
        steps.append(_step(plan, records, fared.get(plan["step"], Fared()), most_lag_ms))
    return Summary(plans[0]["scenario"], plans[0]["host"], tuple(steps))


def _step(plan: dict[str, Any], records: pa.Table, fared: Fared, most_lag_ms: float) -> Step:
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
    # Between so many requests lies one gap less.
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
    return replace(step, limited=tuple(_limits(step, plan, count, fared, most_lag_ms)))


def _calls(records: pa.Table) -> Calls:
    error = records["error"]
    counts = pc.value_counts(error.drop_null()).to_pylist()
    good = records.filter(pc.is_null(error))
    sent, first_byte, end = (_numbers(good, name) for name in ("sent_ns", "first_byte_ns", "end_ns"))
    first_token = _numbers(good, "first_token_ns")
    latency = (end - _numbers(good, "intended_ns")) / NS_PER_MS
    return Calls(
        requests=len(records),
        errors={entry["values"]: entry["counts"] for entry in sorted(counts, key=lambda entry: -entry["counts"])},
        retried=int(pc.sum(pc.greater(records["retries"], 0)).as_py() or 0),
        above_1s=share_above(latency, SLOW_MS),
        above_5s=share_above(latency, VERY_SLOW_MS),
        latency=spread(latency),
        service=spread((end - sent) / NS_PER_MS),
        first_byte=spread((first_byte - sent) / NS_PER_MS),
        first_token=spread(_there(first_token - sent) / NS_PER_MS),
        gap=spread(_gaps(good) / NS_PER_MS),
        added=spread(_there(_numbers(good, "added_ns")) / NS_PER_MS),
    )


def _limits(step: Step, plan: dict[str, Any], count: int, fared: Fared, most_lag_ms: float) -> Iterator[str]:
    if not count:
        yield "no request was sent"
        return
    if step.expected is not None and count < step.expected:
        yield f"{step.expected - count:,} of {step.expected:,} requests left no record: a process died, or was stopped"
    elif step.expected is not None and count > step.expected:
        yield f"{count - step.expected:,} records more than requests: two loads have met in one folder"
    elif fared.ended < plan["processes"]:
        yield f"{plan['processes'] - fared.ended} of {plan['processes']} load processes died"
    elif step.expected is None and count != plan.get("requests") and step.seconds < LEAST_LASTED * plan["duration"]:
        yield f"stopped after {step.seconds:,.1f} of {plan['duration']:,.1f} s"
    if step.late > MOST_LATE and (round(step.late * count) >= LEAST_LATE or step.late > MOST_OF_THEM):
        may = f"by more than {most_lag_ms:.0f} ms ({MOST_LATE:.0%} may be)"
        yield f"requests were sent late: {step.late:.1%} of them {may}"
    if step.offered and step.achieved < LEAST_ACHIEVED * step.offered and step.behind_ms > most_lag_ms:
        yield f"only {step.achieved:,.1f} of {step.offered:,.1f} requests a second could be sent"
    if fared.cpu > MOST_CPU:
        yield f"a load process was busy for {fared.cpu:.0%} of a second: add --workers, or lower the rate"
    if all(calls.error_rate == 1 and set(calls.errors) <= UNREACHED for calls in step.calls.values()):
        yield "the target could not be reached"


@dataclass(frozen=True)
class Machine:
    """How full a machine was, in the mean over a step."""

    busy: float
    """Cores, whoever used them."""
    stolen: float
    """Cores that the machine below took away."""
    cores: int


@dataclass
class Fared:
    """How the processes of a step fared."""

    cpu: float = 0.0
    """How busy the busiest was: the 95th percentile of its seconds, or the mean of a few."""
    ended: int = 0
    """How many have come to their end."""
    in_flight: int = 0
    """How many requests were on their way at once, at most, as each of them saw it once a second, added up."""
    machine: Machine | None = None
    """The machine that they were on; of several, the fullest."""


def fares(folder: Path) -> dict[int, Fared]:
    """Return how the processes of each step fared."""
    found: dict[int, Fared] = {}
    for path in folder.glob(names.HEALTH):
        lines = [*_whole_lines(path)]
        for step in {line["step"] for line in lines}:
            own = [line for line in lines if line["step"] == step]
            fared = found.setdefault(step, Fared())
            fared.cpu = max(fared.cpu, _busy(own))
            fared.ended += own[-1]["over"]
            fared.in_flight += max(line.get("in_flight", 0) for line in own)
            places = [one for one in (fared.machine, _machine(own)) if one is not None]
            fared.machine = max(places, key=lambda one: one.busy / one.cores, default=None)
    return found


def _busy(lines: Sequence[dict[str, Any]]) -> float:
    """Return how busy a process was, as a share of a core."""
    seconds = sum(line["seconds"] for line in lines)
    whole = [line["cpu"] / line["seconds"] for line in lines if line["seconds"] >= SECOND]
    if len(whole) >= MANY_SECONDS:
        return float(np.quantile(whole, 0.95))
    # What lasts less than a second is over before it could be called busy.
    return sum(line["cpu"] for line in lines) / seconds if seconds >= SECOND else 0.0


def _machine(lines: Sequence[dict[str, Any]]) -> Machine | None:
    """Return how full the machine was, as a process saw it."""
    told = [line for line in lines if {"busy", "stolen", "cores"} <= set(line) and line["seconds"] > 0]
    seconds = sum(line["seconds"] for line in told)
    if not seconds:
        return None
    busy, stolen = (sum(line[name] for line in told) / seconds for name in ("busy", "stolen"))
    return Machine(busy, stolen, told[0]["cores"])


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return what a process has written down of itself; one that was killed leaves half a line."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict) and {"step", "cpu", "seconds", "over"} <= set(found):
                yield found


def _numbers(records: pa.Table, name: str) -> Numbers:
    column = records[name]
    # A float tells today's nanoseconds to a quarter of a microsecond, which will do.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _there(values: Numbers) -> Numbers:
    return values[~np.isnan(values)]


def _gaps(records: pa.Table) -> Numbers:
    """Return what lies between two chunks that say something, of each stream."""
    found = []
    for batch in records.select(["chunk_ns", "first_token_ns", "last_token_ns"]).to_batches():
        chunks, first, last = batch.columns
        times = _plain(chunks.flatten())
        stream = np.repeat(np.arange(len(batch)), _plain(pc.list_value_length(chunks)))
        says = (times >= _plain(first)[stream]) & (times <= _plain(last)[stream])
        times, stream = times[says], stream[says]
        found.append(np.diff(times)[stream[1:] == stream[:-1]].astype(np.float64))
    return np.concatenate(found) if found else np.empty(0)


def _plain(column: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = column.fill_null(0).to_numpy(zero_copy_only=False)
    return found
