"""Whether the rig was at fault: what sent, what stood for the provider, and the machine below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import BUSY, FELT, MOST, SATURATED
from evenkeel_lab.diagnosis.evidence import FULL
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold
from evenkeel_load.analysis.summary import LEAST_ACHIEVED, MOST_CPU, MOST_LATE

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence

# Of a core that is there: the share above which a session calls a run invalid.
STOLEN = 0.02
# Of what a thread asked for: on any machine it stands in line for a core now and then, but not for a quarter of it.
DENIED = 0.25
SECOND = 1000.0
RIG = Place.RIG


def load(e: Evidence) -> Finding:
    """Say whether the load was sent as it should have been."""
    numbers = {"cpu": e.fared.cpu, "late": e.step.late, "in_flight": float(e.fared.in_flight)}
    p99 = e.step.lag.quantiles.get("p99") if e.step.lag else None
    because = [f"its busiest process used {formatting.share(e.fared.cpu)} of a core"]
    if p99 is not None:
        because.append(f"99 of 100 requests were sent at most {formatting.ms(p99)} late")
    if e.fared.in_flight:
        because.append(f"it had up to {e.fared.in_flight:,} requests on their way at once")
    if not e.step.limited or e.is_direct:
        return Finding("load", RIG, State.CLEAR, "the load was sent as it should have been", tuple(because), numbers)
    return Finding(
        "load",
        RIG,
        State.BINDS,
        e.step.limited[0],
        (*e.step.limited[1:], *because),
        numbers,
        why="the load's own records say so",
        hint=_hint(e),
    )


def _hint(e: Evidence) -> str:
    if e.connections and e.fared.in_flight >= e.connections:
        return (
            f"All {e.connections:,} connections were in use, because the target answers more slowly than it is asked: "
            "lower --rate until it holds, or raise --connections."
        )
    if e.fared.cpu > MOST_CPU:
        return "Give it more processes with --workers, or a machine of its own, or lower --rate."
    if e.step.late > MOST_LATE or (e.step.offered and e.step.achieved < LEAST_ACHIEVED * e.step.offered):
        return "Leave a core to it, give it --workers, or lower --rate."
    return "Mend that, and make the load again; locust.log beside the records may say more."


def gates(e: Evidence) -> Finding | None:
    """Say what else a session found wrong with its own run."""
    others = [why for why in e.run.limited if why not in e.step.limited] if e.run else []
    if not others:
        return None
    return Finding(
        "gates",
        RIG,
        State.BINDS,
        f"a gate of the session failed: {others[0]}",
        tuple(others[1:]),
        why="the session measured it during the run",
        hint="Give the mock more `workers` in the investigation, and leave the machine alone while it runs.",
    )


def client(e: Evidence) -> Finding | None:
    """Say whether requests waited before they were sent, though the load kept to its schedule."""
    share = e.split.share("wait")
    if share < FELT or e.step.limited:
        return None
    return Finding(
        "client",
        RIG,
        State.BINDS if share >= MOST else State.COSTS,
        f"requests waited in the client for {formatting.share(share)} of their time",
        (f"{formatting.ms(e.split.mean('wait'))} of {formatting.ms(e.split.mean('latency'))} passed before sending",),
        {"share": share, "wait_ms": e.split.mean("wait")},
        why="both moments are the client's own",
        hint="They wait for one of the load's own connections: raise --connections.",
    )


def provider(e: Evidence) -> Finding | None:
    """Say whether the mock had air left."""
    if e.is_direct:
        return None
    if e.run is None or not e.run.provider:
        return untold("provider", RIG, "how busy the mock was", hint="run it as an investigation")
    each = e.run.provider / e.provider_workers
    state = State.BINDS if each >= SATURATED else State.COSTS if each >= BUSY else State.CLEAR
    return Finding(
        "provider",
        RIG,
        state,
        "the mock was too busy to stand for a provider" if state is not State.CLEAR else "the mock had air left",
        (f"each of its processes used {formatting.share(each)} of a core",),
        {"cores": e.run.provider, "each": each},
        why="its CPU time was read before and after",
        hint="Give it more `workers`; `evenkeel mock --calibrate` says what one of them bears.",
    )


def machine(e: Evidence) -> Finding:
    """Say whether the machine had a core left."""
    there = e.fared.machine
    if there is None:
        return untold("machine", RIG, "how full the machine was", hint="make the load with this version of evenkeel")
    waited = max((one.waited for one in e.processes or () if one.waited is not None), default=None)
    is_full, is_robbed = there.busy >= FULL * there.cores, there.stolen >= STOLEN
    because = [f"{there.busy:.2f} of {there.cores} cores were busy"]
    if e.processes is not None:
        because.append(f"{sum(one.used for one in e.processes):.2f} of them for the proxy")
    if waited is not None:
        because.append(f"the proxy's main thread stood in line for a core for {formatting.share(waited)} of the time")
    if is_robbed:
        because.append(f"the machine below took {there.stolen:.2f} of a core away")
    numbers = {"busy": there.busy, "cores": float(there.cores), "stolen": there.stolen}
    numbers |= {} if waited is None else {"waited": waited}
    if not is_full and not is_robbed:
        return Finding("machine", RIG, State.CLEAR, "the machine had room", tuple(because), numbers)
    state, verdict = _full(e, waited, is_robbed=is_robbed)
    return Finding(
        "machine",
        RIG,
        state,
        verdict,
        tuple(because),
        numbers,
        Sure.HIGH if waited is not None else Sure.FAIR,
        "the system counted it" if waited is not None else "the system did not tell who stood in line for a core",
        "Move the load, or whatever else runs there, to another machine; of a virtual one, ask for cores of its own.",
    )


def _full(e: Evidence, waited: float | None, *, is_robbed: bool) -> tuple[State, str]:
    """Say what it means that a machine was full: of the proxy's, that it could not work; of the load's, nothing yet."""
    if e.run is not None and (is_robbed or waited is None):
        # Its own gates judge that: two arms at once fill a machine, and each has cores of its own.
        return State.COSTS, "the machine had no core left"
    if is_robbed:
        return State.BINDS, "the machine below took cores away"
    if e.processes is None:
        state = State.BINDS if e.step.limited else State.COSTS
        return state, "the machine that the load ran on had no core left, for the proxy either if it ran there"
    # A proxy that fills its core needs no neighbour to be slow.
    if e.busiest is not None and e.busiest.each >= SATURATED:
        return State.COSTS, "the machine had no core left beside the proxy"
    if waited is not None and not _is_denied(e, waited):
        return State.COSTS, "the machine had no core left, but the proxy got its share"
    return State.BINDS, "the machine had no core left for the proxy"


def _is_denied(e: Evidence, waited: float) -> bool:
    """Whether the proxy stood in line for so long that it matters."""
    if e.busiest is None or waited < DENIED * e.busiest.wanted:
        return False
    # With time left, a wait costs no more than itself.
    of_a_request = waited / e.split.answered * SECOND if e.split.answered else 0.0
    return e.busiest.wanted >= SATURATED or of_a_request >= FELT * e.split.mean("latency")
