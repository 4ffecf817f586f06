"""Checks of the rig: the load generator, the mock provider and the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import BUSY, FELT, MOST, SATURATED
from evenkeel_lab.diagnosis.evidence import FULL
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown
from evenkeel_load.analysis.summary import LEAST_ACHIEVED, MOST_CPU, MOST_LATE

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence

# Stolen share of a core from which on a session treats a run as invalid.
STOLEN = 0.02
# Share of a thread's demand for CPU time. Some waiting for a core is normal on any machine, but not this much.
DENIED = 0.25
SECOND = 1000.0
RIG = Location.RIG


def load(e: Evidence) -> Finding:
    """Check whether the load generator kept to its schedule."""
    numbers = {"cpu": e.health.cpu, "late": e.step.late, "in_flight": float(e.health.in_flight)}
    p99 = e.step.lag.quantiles.get("p99") if e.step.lag else None
    because = [f"its busiest process used {formatting.share(e.health.cpu)} of a core"]
    if p99 is not None:
        because.append(f"99 of 100 requests were sent at most {formatting.ms(p99)} late")
    if e.health.in_flight:
        because.append(f"it had up to {e.health.in_flight:,} requests on their way at once")
    if not e.step.limited or e.is_direct:
        return Finding("load", RIG, Impact.CLEAR, "the load was sent as it should have been", tuple(because), numbers)
    return Finding(
        "load",
        RIG,
        Impact.BINDS,
        e.step.limited[0],
        (*e.step.limited[1:], *because),
        numbers,
        why="the load's own records say so",
        hint=_hint(e),
    )


def _hint(e: Evidence) -> str:
    if e.connections and e.health.in_flight >= e.connections:
        return (
            f"All {e.connections:,} connections were in use, because the target is slower than the load: "
            "lower --rate until it holds, or raise --connections."
        )
    if e.health.cpu > MOST_CPU:
        return "Give it more processes with --workers, or a machine of its own, or lower --rate."
    if e.step.late > MOST_LATE or (e.step.offered and e.step.achieved < LEAST_ACHIEVED * e.step.offered):
        return "Leave a core to it, give it --workers, or lower --rate."
    return "Fix that, and run the load again; locust.log beside the records may say more."


def gates(e: Evidence) -> Finding | None:
    """Report further reasons why the session treats its run as invalid."""
    reasons = [why for why in e.run.limited if why not in e.step.limited] if e.run else []
    if not reasons:
        return None
    return Finding(
        "gates",
        RIG,
        Impact.BINDS,
        f"a gate of the session failed: {reasons[0]}",
        tuple(reasons[1:]),
        why="the session measured it during the run",
        hint="Give the mock more `workers` in the investigation, and leave the machine alone while it runs.",
    )


def client(e: Evidence) -> Finding | None:
    """Check whether requests waited in the client although the load generator kept to its schedule."""
    share = e.split.share("wait")
    if share < FELT or e.step.limited:
        return None
    return Finding(
        "client",
        RIG,
        Impact.BINDS if share >= MOST else Impact.COSTS,
        f"requests waited in the client for {formatting.share(share)} of their time",
        (f"{formatting.ms(e.split.mean('wait'))} of {formatting.ms(e.split.mean('latency'))} passed before sending",),
        {"share": share, "wait_ms": e.split.mean("wait")},
        why="both moments are the client's own",
        hint="They wait for one of the load's own connections: raise --connections.",
    )


def provider(e: Evidence) -> Finding | None:
    """Check whether the mock provider was saturated."""
    if e.is_direct:
        return None
    if e.run is None or not e.run.provider:
        return unknown("provider", RIG, "how busy the mock was", hint="run it as an investigation")
    each = e.run.provider / e.provider_workers
    impact = Impact.BINDS if each >= SATURATED else Impact.COSTS if each >= BUSY else Impact.CLEAR
    return Finding(
        "provider",
        RIG,
        impact,
        "the mock was too busy to stand for a provider" if impact is not Impact.CLEAR else "the mock had capacity left",
        (f"each of its processes used {formatting.share(each)} of a core",),
        {"cores": e.run.provider, "each": each},
        why="its CPU time was read before and after",
        hint="Give it more `workers`; `evenkeel mock --calibrate` says how much one of them can serve.",
    )


def machine(e: Evidence) -> Finding:
    """Check whether the machine had a core left."""
    machine = e.health.machine
    if machine is None:
        return unknown("machine", RIG, "how full the machine was", hint="make the load with this version of evenkeel")
    waited = max((process.waited for process in e.processes or () if process.waited is not None), default=None)
    is_full, has_steal = machine.busy >= FULL * machine.cores, machine.stolen >= STOLEN
    because = [f"{machine.busy:.2f} of {machine.cores} cores were busy"]
    if e.processes is not None:
        because.append(f"{sum(process.used for process in e.processes):.2f} of them for the proxy")
    if waited is not None:
        because.append(f"the proxy's main thread waited for a core for {formatting.share(waited)} of the time")
    if has_steal:
        because.append(f"the machine below took {machine.stolen:.2f} of a core away")
    numbers = {"busy": machine.busy, "cores": float(machine.cores), "stolen": machine.stolen}
    numbers |= {} if waited is None else {"waited": waited}
    if not is_full and not has_steal:
        return Finding("machine", RIG, Impact.CLEAR, "the machine had room", tuple(because), numbers)
    impact, verdict = _full(e, waited, has_steal=has_steal)
    return Finding(
        "machine",
        RIG,
        impact,
        verdict,
        tuple(because),
        numbers,
        Confidence.HIGH if waited is not None else Confidence.FAIR,
        "the system counted it" if waited is not None else "the system did not tell which threads waited for a core",
        "Move the load, or other programs, to another machine; give a virtual machine dedicated cores.",
    )


def _full(e: Evidence, waited: float | None, *, has_steal: bool) -> tuple[Impact, str]:
    """Return the impact and verdict of a full machine. If the proxy is not known to run on it, it proves little."""
    if e.run is not None and (has_steal or waited is None):
        # The session's own limits decide: two arms at once fill a machine, and each has its own cores.
        return Impact.COSTS, "the machine had no core left"
    if has_steal:
        return Impact.BINDS, "the machine below took cores away"
    if e.processes is None:
        impact = Impact.BINDS if e.step.limited else Impact.COSTS
        return impact, "the machine of the load had no core left; neither had the proxy, if it ran there"
    # A proxy that uses its whole core is slow without competing processes too.
    if e.busiest is not None and e.busiest.each >= SATURATED:
        return Impact.COSTS, "the machine had no core left beside the proxy"
    if waited is not None and not _is_denied(e, waited):
        return Impact.COSTS, "the machine had no core left, but the proxy got its share"
    return Impact.BINDS, "the machine had no core left for the proxy"


def _is_denied(e: Evidence, waited: float) -> bool:
    """Whether the proxy waited for a core long enough to matter."""
    if e.busiest is None or waited < DENIED * e.busiest.demand:
        return False
    # A process with spare time loses only the wait itself.
    of_a_request = waited / e.split.answered * SECOND if e.split.answered else 0.0
    return e.busiest.demand >= SATURATED or of_a_request >= FELT * e.split.mean("latency")
