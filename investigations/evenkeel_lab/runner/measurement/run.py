"""One run: a load on one arm, and what the arm spent on it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
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

# How often Postgres is looked at; its own counters lag behind by as much.
SECOND = 1.0
# For Locust to come up, which takes it some 1.5, so that runs that belong together begin at the same moment.
LEAD_SECONDS = 3.0
LEAST_LAGS = 20
LOCK = "Lock:"
FILE = "run.json"
"""Beside its records."""


class Stopped(Exception):
    """Somebody has asked the session to stop."""


@dataclass(frozen=True)
class Run:
    """What a run showed."""

    arm: str
    start_ns: int
    seconds: float
    requests: int
    figures: dict[str, float]
    cpu: dict[str, float] = field(default_factory=dict)
    """Seconds, by program."""
    database: dict[str, int] = field(default_factory=dict)
    """What Postgres has counted meanwhile."""
    operations: dict[str, int] = field(default_factory=dict)
    """What the subject has asked of its database client, by table and kind."""
    waits: dict[str, int] = field(default_factory=dict)
    """What the subject's connections to Postgres were about, when they were looked at once a second."""
    provider: float = 0.0
    """How busy the mock was, in cores."""
    waited: float | None = None
    """For which share of the time its busiest process stood in line for a core; None where the system does not tell."""
    limited: tuple[str, ...] = ()
    """Why it says more about the rig than about its arm."""
    cores: tuple[int, ...] = ()
    """On which it began; empty if it ran on any. In a duet, both arms take turns on all of them."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, told: object) -> Self:
        """Read what `document` has returned."""
        return TypeAdapter(cls).validate_python(told)

    def document(self) -> dict[str, Any]:
        """Return it for a file."""
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
    """Load an arm from a given moment on, and read its counters before and after."""
    chosen = _options(target, wanted, seed, start_ns)
    await seed_users(target.database_url, make_plan(SCENARIOS[wanted.scenario], wanted.users, records.name, chosen))
    before = await CounterSnapshot.before(target)

    def tell(_: Progress) -> None:
        if stop.is_set():
            raise Stopped

    async with _watching(target, records) as seen:
        summary = await asyncio.to_thread(_load, target, wanted, chosen, records, tell)
    if target.database_url:
        await asyncio.sleep(SECOND)
    spent = (await CounterSnapshot.after(target)).since(before)
    step = summary.steps[0]
    end_ns = start_ns + int(step.seconds * 1e9)
    requests = sum(one.requests for name, one in step.calls.items() if name != "all")
    figures = metrics_of(summary) | spent.figures(requests)
    if seen.memory_mib:
        figures["memory_mib"] = seen.memory_mib
    if looks := [found for at, found in seen.locks if start_ns <= at <= end_ns]:
        figures["lock_waits"] = fmean(looks)
    if target.lag:
        late = list(counters.lags(target.lag, start_ns, end_ns))
        if len(late) >= LEAST_LAGS:
            figures["loop_lag"] = fmean(late)
    found = Run(
        arm=target.name,
        start_ns=start_ns,
        seconds=step.seconds,
        requests=requests,
        figures={name: value for name, value in figures.items() if math.isfinite(value)},
        cpu=dict(spent.subject.cpu) if spent.subject else {},
        database=dict(spent.database),
        operations={name: count for name, count in spent.operations.items() if count},
        waits=seen.waits,
        provider=spent.provider / max(step.seconds, SECOND),
        waited=seen.waited,
        limited=_limits(summary, target, gates, spent),
        cores=cores,
    )
    (records / FILE).write_text(json.dumps(found.document()), encoding="utf-8")
    return found


@dataclass
class _Seen:
    """What was looked at again and again."""

    memory_mib: float = 0.0
    waits: dict[str, int] = field(default_factory=dict)
    waited: float | None = None
    locks: list[tuple[int, bool]] = field(default_factory=list)
    """When Postgres was looked at, and whether a connection to it waited for a lock then."""


@contextlib.asynccontextmanager
async def _watching(target: Target, records: Path) -> AsyncIterator[_Seen]:
    """Watch a subject; what its processes used, second after second, goes beside the records."""
    seen = _Seen()
    watching = asyncio.create_task(_watch(target, seen))
    sampler = Sampler(target.pid) if target.pid else None
    if sampler:
        sampler.start()
    try:
        yield seen
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        if sampler:
            seen.memory_mib = sampler.usage().memory_mib
    if not watching.cancelled():
        watching.result()
    if sampler:
        sampler.write(records)
        seen.waited = waited(read_samples(records))


async def _watch(target: Target, seen: _Seen) -> None:
    while target.pid and target.database_url:
        # A look that fails is one look less; whether a server is gone, the readings after the run say.
        with contextlib.suppress(OSError, PostgresError):
            found = await counters.waits(target.database_url)
            seen.locks.append((time.time_ns(), any(what.startswith(LOCK) for what in found)))
            for what, count in found.items():
                seen.waits[what] = seen.waits.get(what, 0) + count
        await asyncio.sleep(SECOND)


def _limits(summary: Summary, target: Target, gates: Gates, spent: CounterSnapshot) -> tuple[str, ...]:
    """Return why a run says more about the rig than about its arm."""
    # The mock alone is loaded as fast as it goes, which no gate is about.
    found = [] if target.name == DIRECT else list(summary.limited)
    if _failed(summary):
        found.append("all of its requests failed")
    seconds = max(summary.steps[0].seconds, SECOND)
    busy, stolen = spent.provider / seconds, spent.stolen / seconds
    if busy > gates.mock * target.provider_workers:
        found.append(f"the mock was busy for {busy:.0%} of a core")
    if stolen > gates.throttled:
        found.append(f"{stolen:.1%} of a core were taken away, by the machine below or by a container's quota")
    return tuple(found)


def _failed(summary: Summary) -> bool:
    return all(one.error_rate == 1 for one in summary.steps[0].calls.values())


def _options(target: Target, wanted: Load, seed: int, start_ns: int) -> dict[str, Any]:
    chosen = wanted.options | {
        "seed": seed,
        "start_at": start_ns,
        "api_key": target.api_key,
        "admin_key": target.admin_key,
        # They are there already, put there beside the proxy.
        "create_users": NO,
        # The subject's database does not outlive the session.
        "remove_after": 0.0,
        "models": wanted.models or MODEL,
        "arm": target.name,
    }
    if target.pid is None:
        # Nor has it the proxy's names of models.
        chosen["models"] = MODEL
        # The mock has no users that could be created: it sees as many unknown ones.
        created = wanted.user_mode == "created"
        chosen |= {"key_mode": "shared", "user_mode": "random" if created else wanted.user_mode}
    return chosen


def _load(target: Target, wanted: Load, chosen: dict[str, Any], records: Path, tell: Any) -> Summary:
    users = (wanted.users,)
    try:
        found = load(wanted.scenario, target.url, users, chosen, records, fleet=Fleet(), tell=tell, is_there=True)
    except LoadError as error:
        raise RigFailure(f"The load on {target.name} has failed: {error.what}", hint=error.hint) from error
    assert found is not None
    return found


def next_start_ns() -> int:
    """Return a moment to begin at."""
    return time.time_ns() + int(LEAD_SECONDS * 1e9)
