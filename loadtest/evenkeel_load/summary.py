"""What a folder of records says: per step and kind of request, how long, how often, and whether the rig was at fault.

Latency counts from when a request was intended, service from when it was sent; both of requests that succeeded.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkeel_load import folder as names
from evenkeel_load.errors import LoadFailed
from evenkeel_load.statistics import Spread, share_above, spread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

NS_PER_MS, NS = 1e6, 1e9
ALL = "all"
SLOW_MS, VERY_SLOW_MS = 1000.0, 5000.0
# What makes a run say more about the rig than about what was loaded.
MOST_LAG_MS, LEAST_ACHIEVED, MOST_CPU = 10.0, 0.98, 0.85
UNREACHED = {"refused", "unresolved", "network"}
OF_A_PLAN = {"step", "scenario", "host", "arrivals", "users", "expected"}
COLUMNS = [
    "step",
    "call",
    "intended_ns",
    "sent_ns",
    "first_byte_ns",
    "first_token_ns",
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
    """Between two chunks of a stream."""
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
    """Requests a second that ended."""
    lag: Spread | None
    """By how much requests were sent later than intended; of an open load."""
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


def summarise(folder: Path) -> Summary:
    """Read the merged records of a folder."""
    plans = [names.read(path) for path in folder.glob(names.PLANS)]
    if not plans or not all(set(plan) >= OF_A_PLAN for plan in plans):
        raise LoadFailed(
            f"{folder} has no plan, or one that cannot be read.", cure="Keep plan-*.json with its records."
        )
    try:
        table = pq.read_table(folder / names.RECORDS, columns=COLUMNS)
    except (pa.ArrowException, OSError) as error:
        raise LoadFailed(f"{folder / names.RECORDS} cannot be read: {error}.", cure="Name another folder.") from error
    busiest = _busiest(folder)
    steps = []
    for plan in sorted(plans, key=lambda plan: plan["step"]):
        records = table.filter(pc.equal(table["step"], plan["step"])) if len(plans) > 1 else table
        steps.append(_step(plan, records, busiest.get(plan["step"], 0.0)))
    return Summary(plans[0]["scenario"], plans[0]["host"], tuple(steps))


def _step(plan: dict[str, Any], records: pa.Table, cpu: float) -> Step:
    intended, sent, end = (_numbers(records, name) for name in ("intended_ns", "sent_ns", "end_ns"))
    count = len(records)
    is_open = plan["arrivals"] != "closed"
    span = float(np.ptp(intended)) / NS if count else 0.0
    sending = float(sent.max() - intended.min()) / NS if count else 0.0
    seconds = float(end.max() - intended.min()) / NS if count else 0.0
    expected = plan["expected"]
    # Between so many requests lies one gap less.
    offered = ((expected or count) - 1) / span if is_open and span else None
    achieved = (count - 1) / sending if sending else 0.0
    lag = spread((sent - intended) / NS_PER_MS) if is_open else None
    kinds = pc.unique(records["call"]).to_pylist()
    calls = {name: _calls(records.filter(pc.equal(records["call"], name))) for name in sorted(kinds)}
    if len(kinds) != 1:
        calls[ALL] = _calls(records)
    answered = count / seconds if seconds else 0.0
    step = Step(
        plan["step"], plan["arrivals"], plan["users"], expected, seconds, offered, achieved, answered, lag, calls, ()
    )
    return Step(**vars(step) | {"limited": tuple(_limits(step, count, cpu))})


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
        gap=spread(_gaps(good["chunk_ns"]) / NS_PER_MS),
        added=spread(_there(_numbers(good, "added_ns")) / NS_PER_MS),
    )


def _limits(step: Step, count: int, cpu: float) -> list[str]:
    found = []
    if step.expected is not None and count < step.expected:
        found.append(
            f"{step.expected - count:,} of {step.expected:,} requests left no record: a process died, or was stopped"
        )
    if step.lag is not None and step.lag.quantiles.get("p99", step.lag.most) > MOST_LAG_MS:
        late = step.lag.quantiles.get("p99", step.lag.most)
        found.append(f"requests were sent late, by {late:.1f} ms (p99; {MOST_LAG_MS:.0f} ms may be)")
    if step.offered and step.achieved < LEAST_ACHIEVED * step.offered:
        found.append(f"only {step.achieved:,.1f} of {step.offered:,.1f} requests a second could be sent")
    if cpu > MOST_CPU:
        found.append(f"a load process was busy for {cpu:.0%} of a second: add --workers, or lower the rate")
    errors = [calls.errors for calls in step.calls.values()]
    if count and all(set(kinds) <= UNREACHED and kinds for kinds in errors) and _failed_wholly(step):
        found.append("the target could not be reached")
    return found


def _failed_wholly(step: Step) -> bool:
    return all(calls.error_rate == 1 for calls in step.calls.values())


def _busiest(folder: Path) -> dict[int, float]:
    """Return for each step how busy its busiest process was: the 95th percentile of its seconds."""
    found: dict[int, list[float]] = {}
    for path in folder.glob(names.HEALTH):
        lines = [*_whole_lines(path)]
        for step in {line["step"] for line in lines}:
            seconds = [line["cpu"] for line in lines if line["step"] == step]
            found.setdefault(step, []).append(float(np.quantile(seconds, 0.95)))
    return {step: max(processes) for step, processes in found.items()}


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return what a process has written down of itself; one that was killed leaves half a line."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict) and {"step", "cpu"} <= set(found):
                yield found


def _numbers(records: pa.Table, name: str) -> Numbers:
    column = records[name]
    # A float tells today's nanoseconds to a quarter of a microsecond, which will do.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _there(values: Numbers) -> Numbers:
    return values[~np.isnan(values)]


def _gaps(chunks: pa.ChunkedArray) -> Numbers:
    found = []
    for part in chunks.chunks:
        times = part.flatten().to_numpy(zero_copy_only=False)
        if len(times) < 2:  # noqa: PLR2004  # no two, no gap
            continue
        gaps = np.diff(times).astype(np.float64)
        # The difference between the last chunk of one stream and the first of the next is none.
        first = np.cumsum(pc.list_value_length(part).fill_null(0).to_numpy(zero_copy_only=False))[:-1]
        inside = np.ones(len(gaps), dtype=bool)
        inside[first[(first > 0) & (first < len(times))] - 1] = False
        found.append(gaps[inside])
    return np.concatenate(found) if found else np.empty(0)
