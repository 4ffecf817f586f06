"""One run: a load on one arm, and what the arm spent on it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from evenkeel_lab.comparison.runs import figures_of
from evenkeel_lab.experiment.investigation import DIRECT
from evenkeel_lab.session import counters
from evenkeel_lab.stack.config import MODEL
from evenkeel_load.run import Fleet, Progress, run as load

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

    from evenkeel_lab.experiment.investigation import Gates, Load
    from evenkeel_lab.session.arms import Target
    from evenkeel_load.summary import Summary

# How often memory is looked at; Postgres' own counters lag behind by as much.
SECOND = 1.0
LEAST_LAGS = 20


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
    limited: tuple[str, ...] = ()
    """Why it says more about the rig than about its arm."""
    cores: tuple[int, ...] = ()
    """On which it ran; empty if on any."""

    def document(self) -> dict[str, Any]:
        """Return it for a file."""
        return asdict(self)

    @classmethod
    def of(cls, told: dict[str, Any]) -> Self:
        """Read what `document` has returned."""
        return cls(**told | {"limited": tuple(told["limited"]), "cores": tuple(told["cores"])})


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
    taken = counters.stolen()
    before = counters.spent(target.pid) if target.pid else None
    calls = await counters.database(target.database_url) if target.database_url else {}
    watching = asyncio.create_task(_most_memory(target.pid)) if target.pid else None

    def tell(_: Progress) -> None:
        if stop.is_set():
            raise Stopped

    try:
        summary = await asyncio.to_thread(_load, target, wanted, seed, start_ns, records, tell)
    finally:
        memory = await _end(watching) if watching else 0.0
    step = summary.steps[0]
    requests = sum(one.requests for name, one in step.calls.items() if name != "all")
    figures = figures_of(summary)
    cpu: dict[str, float] = {}
    if before and target.pid and requests:
        spent = counters.spent(target.pid).since(before)
        cpu = dict(spent.cpu)
        figures |= {
            "cpu_ms": spent.total / requests * 1000,
            "memory_mib": memory,
            "switches": spent.switches / requests,
        }
    if target.lag:
        late = list(counters.lags(target.lag, start_ns, start_ns + int(step.seconds * 1e9)))
        if len(late) >= LEAST_LAGS:
            figures["loop_lag"] = fmean(late)
    if target.database_url and requests:
        await asyncio.sleep(SECOND)
        after = await counters.database(target.database_url)
        calls = {name: value - calls[name] for name, value in after.items()}
        figures["database_calls"] = (calls["xact_commit"] + calls["xact_rollback"]) / requests
    limited = list(summary.limited)
    # The mock alone is loaded as fast as it goes, which no gate is about.
    if target.name == DIRECT:
        limited.clear()
    share = (counters.stolen() - taken) / max(step.seconds, SECOND)
    if share > gates.throttled:
        limited.append(f"the machine below took {share:.1%} of a core away")
    return Run(target.name, start_ns, step.seconds, requests, figures, cpu, calls, tuple(limited), cores)


def _load(target: Target, wanted: Load, seed: int, start_ns: int, records: Path, tell: Any) -> Summary:
    chosen = wanted.model_dump(exclude={"scenario", "users"}, exclude_none=True)
    chosen |= {
        "seed": seed,
        "start_at": start_ns,
        "api_key": target.api_key,
        "admin_key": target.admin_key,
        # The subject's database does not outlive the session.
        "remove_after": 0.0,
        "models": MODEL,
        "arm": target.name,
    }
    found = load(wanted.scenario, target.url, (wanted.users,), chosen, records, fleet=Fleet(), tell=tell)
    assert found is not None
    return found


async def _most_memory(pid: int | None) -> float:
    most = 0.0
    try:
        while pid:
            most = max(most, counters.spent(pid).memory_mib)
            await asyncio.sleep(SECOND)
    except asyncio.CancelledError:
        pass
    return most


async def _end(watching: asyncio.Task[float]) -> float:
    watching.cancel()
    return await watching


def soon_ns(seconds: float) -> int:
    """Return a moment to begin at."""
    return time.time_ns() + int(seconds * 1e9)
