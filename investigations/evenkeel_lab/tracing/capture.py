"""Trace the requests of each arm at the end of a session, while its proxies still run.

Each arm gets an extra run like those of the session. It is no run of the session: its records are in a folder of their
own and belong to no pair.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from evenkeel_lab.errors import RigFailure
from evenkeel_lab.investigation_spec.arm import Kind
from evenkeel_lab.investigation_spec.session import Design
from evenkeel_lab.runner.measurement.core_pinning import pin, shares
from evenkeel_lab.runner.measurement.fresh_key import with_fresh_key
from evenkeel_lab.runner.measurement.probes import probed_processes, recording
from evenkeel_lab.runner.measurement.run import measure, next_start_ns
from evenkeel_lab.runner.results.provenance import provenance
from evenkeel_lab.runner.results.store import digest
from evenkeel_lab.stack.probes.probe_switch import TRACES
from evenkeel_lab.tracing.traces import FILE, Trace, Traces, write
from evenkeel_lab.tracing.waits import PARTS, waits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.progress import Steps
    from evenkeel_lab.runner.results.store import Store
    from evenkeel_lab.runner.targets import Target

FOLDER = "traces"
# The first requests of a hundred clients, and as many that come later.
MOST_REQUESTS = 200
NS_PER_MS, US_PER_MS = 1_000_000, 1000


@dataclass(frozen=True)
class TraceCapture:
    """Recorder of an investigation's traces."""

    name: str
    investigation: Investigation
    store: Store
    steps: Steps
    stop: Event

    async def __call__(self, targets: Mapping[str, Target]) -> None:
        """Trace a run of each proxy, then write the traces."""
        arms: dict[str, tuple[Trace, ...]] = {}
        skipped: dict[str, str] = {}
        for name, arm in self.investigation.arms.items():
            if arm.subject is not Kind.PROXY:
                skipped[name] = "only proxies have traces"
                continue
            with self.steps.step(f"tracing {name}"):
                arms[name] = await self._run(targets[name])
        head = self.store.head()
        where = asdict(provenance(head.provenance.engine, installed=head.provenance.installed))
        write(Traces(self.name, digest(head.investigation), where, PARTS, arms, skipped), self.store.folder / FILE)

    async def _run(self, target: Target) -> tuple[Trace, ...]:
        assert target.pid is not None
        lag = target.lag
        assert lag is not None
        folder = self.store.folder / FOLDER / target.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        load, session = self.investigation.load_of(target.name), self.investigation.session
        # The proxy gets the cores that it has in a duet.
        cores = shares(2)[0] if session.design is Design.DUETS else ()
        pin(target.pid, cores)
        # A key in the state that the runs of the session begin with.
        target = await with_fresh_key(target, load, session.key)
        async with recording(lag, probed_processes(lag), TRACES, "-") as results:
            start, gates = next_start_ns(), self.investigation.gates
            await measure(target, load, session.seed, start, folder, cores, gates, self.stop)
        return _first([request for result in results.values() for request in result["requests"]])


def _first(requests: list[tuple[int, int, list[tuple[str, int, int]]]]) -> tuple[Trace, ...]:
    """Return the traces of the requests that arrived first."""
    if not requests:
        raise RigFailure("No request was traced.", hint="See the proxy's log, or try again.")
    ordered = sorted(requests, key=lambda request: request[0])[:MOST_REQUESTS]
    first = ordered[0][0]
    return tuple(
        Trace((arrived - first) // NS_PER_MS, _milliseconds(waits(duration, spans)))
        for arrived, duration, spans in ordered
    )


def _milliseconds(times: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(round(times[part] / US_PER_MS) for part in PARTS)
