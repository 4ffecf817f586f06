"""A run: a load on one arm, and the costs of the arm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Self

from asyncpg import PostgresError
from pydantic import ConfigDict, TypeAdapter

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.investigation import DIRECT
from evenkeel_lab.runner.measurement import counters
from evenkeel_lab.runner.measurement.counter_snapshot import CounterSnapshot
from evenkeel_lab.runner.measurement.user_seeding import seed_users
from evenkeel_lab.stack.litellm.config import MODEL
from evenkeel_lab.stats.run_set import metrics_of
from evenkeel_load.errors import LoadError
from evenkeel_load.options import NO
from evenkeel_load.plan import make_plan
from evenkeel_load.proxy import Sampler
from evenkeel_load.records.resource_samples import read_samples, waited
from evenkeel_load.run import Fleet, Progress, run as load
from evenkeel_load.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from threading import Event

    from evenkeel_lab.investigation_spec.investigation import Gates, Load
    from evenkeel_lab.runner.targets import Target
    from evenkeel_load.analysis.summary import Summary

# Interval of samples of Postgres. Its own statistics lag behind by as much.
SECOND = 1.0
# Locust needs some 1.5 seconds to start. Both runs of a duet begin at the same time.
LEAD_SECONDS = 3.0
LEAST_LAGS = 20
LOCK = "Lock:"
Lanes = Mapping[str, Mapping[str, list[int]]]
"""By account and by kind of event: the number of events in each second of a run."""
FILE = "run.json"
"""Name of a run's file, next to its records."""


class Stopped(Exception):
    """The session was stopped by the user."""


@dataclass(frozen=True)
class Run:
    """Result of a run."""

    arm: str
    start_ns: int
    seconds: float
    requests: int
    figures: dict[str, float]
    cpu: dict[str, float] = field(default_factory=dict)
    """CPU seconds by program."""
    database: dict[str, int] = field(default_factory=dict)
    """Statistics of Postgres for the run."""
    operations: dict[str, int] = field(default_factory=dict)
    """Operations of the subject's database client, by table and action."""
    waits: dict[str, int] = field(default_factory=dict)
    """Active connections of the subject to Postgres by what they waited for, in samples once a second."""
    provider: float = 0.0
    """CPU use of the mock, in cores."""
    waited: float | None = None
    """Share of the time that its busiest process waited for a core; `None` if the system does not measure it."""
    limited: tuple[str, ...] = ()
    """Reasons why the run measured the rig rather than its arm."""
    cores: tuple[int, ...] = ()
    """The cores on which it began; empty if it was not pinned. In a duet, both arms swap cores."""
    lanes: Lanes = field(default_factory=dict)
    """Attempts at each account over time, of a drill."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, document: object) -> Self:
        """Return the run of a document."""
        return TypeAdapter(cls).validate_python(document)

    def document(self) -> dict[str, Any]:
        """Return the run as a document for a file."""
        return asdict(self)


async def measure(
    target: Target,
    wanted: Load,
    seed: int,
    start_ns: int,
    records: Path,
    cores: tuple[int, ...],
    gates: Gates,
    stop: Event,
) -> Run:
    """Load an arm from `start_ns` on, and read its counters before and after."""
    chosen = _options(target, wanted, seed, start_ns)
    await seed_users(target.database_url, make_plan(SCENARIOS[wanted.scenario], wanted.users, records.name, chosen))
    before = await CounterSnapshot.before(target)

    def stop_if_asked(_: Progress) -> None:
        if stop.is_set():
            raise Stopped

    async with _watching(target, records) as watched:
        summary = await asyncio.to_thread(_load, target, wanted, chosen, records, gates.late_ms, stop_if_asked)
    if target.database_url:
        await asyncio.sleep(SECOND)
    spent = (await CounterSnapshot.after(target)).since(before)
    step = summary.steps[0]
    end_ns = start_ns + int(step.seconds * 1e9)
    requests = sum(calls.requests for name, calls in step.calls.items() if name != "all")
    figures = metrics_of(summary) | spent.figures(requests)
    if watched.memory_mib:
        figures["memory_mib"] = watched.memory_mib
    if samples := [is_waiting for at, is_waiting in watched.locks if start_ns <= at <= end_ns]:
        figures["lock_waits"] = fmean(samples)
    if target.lag:
        late = list(counters.lags(target.lag, start_ns, end_ns))
        if len(late) >= LEAST_LAGS:
            figures["loop_lag"] = fmean(late)
    run = Run(
        arm=target.name,
        start_ns=start_ns,
        seconds=step.seconds,
        requests=requests,
        figures={name: value for name, value in figures.items() if math.isfinite(value)},
        cpu=dict(spent.subject.cpu) if spent.subject else {},
        database=dict(spent.database),
        operations={name: count for name, count in spent.operations.items() if count},
        waits=watched.waits,
        provider=spent.provider / max(step.seconds, SECOND),
        waited=watched.waited,
        limited=_limits(summary, target, gates, spent),
        cores=cores,
    )
    (records / FILE).write_text(json.dumps(run.document()), encoding="utf-8")
    return run


@dataclass
class _Watched:
    """Results of sampling a subject during a run."""

    memory_mib: float = 0.0
    waits: dict[str, int] = field(default_factory=dict)
    waited: float | None = None
    locks: list[tuple[int, bool]] = field(default_factory=list)
    """Times of samples of Postgres, and whether a connection waited for a lock."""


@contextlib.asynccontextmanager
async def _watching(target: Target, records: Path) -> AsyncIterator[_Watched]:
    """Sample a subject once a second during the block. The use of its processes is written next to the records."""
    watched = _Watched()
    watching = asyncio.create_task(_watch(target, watched))
    sampler = Sampler(target.pid) if target.pid else None
    if sampler:
        sampler.start()
    try:
        yield watched
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        if sampler:
            watched.memory_mib = sampler.usage().memory_mib
    if not watching.cancelled():
        watching.result()
    if sampler:
        sampler.write(records)
        watched.waited = waited(read_samples(records))


async def _watch(target: Target, watched: _Watched) -> None:
    while target.pid and target.database_url:
        # A failed sample is left out. If a server is gone, reading the counters after the run fails.
        with contextlib.suppress(OSError, PostgresError):
            by_wait = await counters.waits(target.database_url)
            watched.locks.append((time.time_ns(), any(what.startswith(LOCK) for what in by_wait)))
            for wait, count in by_wait.items():
                watched.waits[wait] = watched.waits.get(wait, 0) + count
        await asyncio.sleep(SECOND)


def _limits(summary: Summary, target: Target, gates: Gates, spent: CounterSnapshot) -> tuple[str, ...]:
    """Return the reasons why a run measured the rig rather than its arm."""
    # The mock alone is loaded to its limit. No gate applies to it.
    reasons = [] if target.name == DIRECT else list(summary.limited)
    if _failed(summary):
        reasons.append("all of its requests failed")
    seconds = max(summary.steps[0].seconds, SECOND)
    busy, stolen = spent.provider / seconds, spent.stolen / seconds
    if busy > gates.mock * target.provider_workers:
        reasons.append(f"the mock was busy for {busy:.0%} of a core")
    if stolen > gates.throttled:
        reasons.append(f"{stolen:.1%} of a core were taken away, by the machine below or by a container's quota")
    return tuple(reasons)


def _failed(summary: Summary) -> bool:
    return all(calls.error_rate == 1 for calls in summary.steps[0].calls.values())


def _options(target: Target, wanted: Load, seed: int, start_ns: int) -> dict[str, Any]:
    chosen = wanted.options | {
        "seed": seed,
        "start_at": start_ns,
        "api_key": target.api_key,
        "admin_key": target.admin_key,
        # `seed_users` has put them into the database.
        "create_users": NO,
        # The subject's database does not outlive the session.
        "remove_after": 0.0,
        "models": wanted.models or MODEL,
        "arm": target.name,
    }
    if target.pid is None:
        # The mock does not know the proxy's model names.
        chosen["models"] = MODEL
        # The mock has no users to create: it sees the same number of unknown ones.
        created = wanted.user_mode == "created"
        chosen |= {"key_mode": "shared", "user_mode": "random" if created else wanted.user_mode}
    return chosen


def _load(target: Target, wanted: Load, chosen: dict[str, Any], records: Path, late_ms: float, tell: Any) -> Summary:
    users = (wanted.users,)
    try:
        summary = load(
            wanted.scenario,
            target.url,
            users,
            chosen,
            records,
            fleet=Fleet(),
            tell=tell,
            is_there=True,
            most_lag_ms=late_ms,
        )
    except LoadError as error:
        raise RigFailure(f"The load on {target.name} failed: {error.what}", hint=error.hint) from error
    assert summary is not None
    return summary


def next_start_ns() -> int:
    """Return the start time of a run that is prepared now, in nanoseconds."""
    return time.time_ns() + int(LEAD_SECONDS * 1e9)
