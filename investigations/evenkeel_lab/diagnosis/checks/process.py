"""Checks of the proxy's processes: CPU, event loop, and waiting for other resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import BUSY, CROWD, FELT, MOST, NOTICED, SATURATED
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown
from evenkeel_lab.diagnosis.processes import PYTHON

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.processes import Process

LOCAL = Location.LOCAL
SECOND = 1000.0
# If this share of the time in the proxy is not CPU time, CPU is not what it waits for.
IDLE = 0.75
# A request waits for the event loop at least twice: on its way to the provider and on its way back.
TURNS = 2
# Shorter times in the proxy are too small to matter beside a provider's.
NOTICED_MS = 50.0
# Normal delay of an event loop: one or two callbacks of ordinary work.
LATE_MS = 5.0
# Processes that used less are not listed.
MIN_CORES = 0.01
HINTS = {
    PYTHON: "Start more workers (--num_workers), take callbacks away that do work for each request, or give each "
    "request less to do; py-spy shows where the time goes.",
    "": "Ask it less: cache what is looked up for each request, and write in batches.",
}


ALONE = "Give each request less to do; more workers would answer more of them, but none of them sooner."


def cpu(e: Evidence) -> Finding | None:
    """Check whether a process of the proxy was saturated."""
    if e.is_direct:
        return None
    busiest = e.busiest
    if busiest is None:
        return unknown("cpu", LOCAL, "what the proxy's processes used", hint="load it with --pid, the proxy's process")
    used = sum(process.used for process in e.processes or ())
    pinned = len(e.run.cores) if e.run else 0
    because = [
        f"{process.title} used {process.used:.2f} cores" for process in e.processes or () if process.used >= MIN_CORES
    ]
    if pinned:
        because.append(f"all of them were kept on {pinned} core{'s' if pinned > 1 else ''}")
    if busiest.waited is not None and busiest.waited >= NOTICED:
        because.append(f"{busiest.title} waited for a core for another {formatting.share(busiest.waited)}")
    numbers = {"busiest": busiest.each, "used": used}
    is_full = busiest.demand >= SATURATED or (pinned and used >= SATURATED * pinned)
    if not is_full:
        impact = Impact.COSTS if busiest.each >= BUSY else Impact.CLEAR
        condition = "is busy, but has room" if impact is Impact.COSTS else "had room"
        return Finding(
            "cpu", LOCAL, impact, f"{busiest.title} {condition}", tuple(because), numbers, hint=_hint(busiest)
        )
    # Without known parts, the saturation itself is the only evidence. Chunks of a stream wait for the process too, for
    # an unknown time.
    share = e.split.share("proxy") + e.split.share("stream") if e.split.is_upstream_known else 1.0
    is_alone = e.split.is_upstream_known and e.split.inside < CROWD and e.split.stream is None
    return Finding(
        "cpu",
        LOCAL,
        Impact.BINDS if share >= NOTICED else Impact.COSTS,
        _describe_saturation(busiest, is_alone=is_alone)
        if share >= NOTICED
        else f"{busiest.title} is at its limit, though hardly anything waits for it",
        tuple(because),
        numbers,
        Confidence.HIGH if busiest.count == 1 else Confidence.FAIR,
        "its CPU time was counted; Python does one thing at a time in a process"
        if busiest.name.startswith(PYTHON)
        else "its CPU time was counted",
        ALONE if is_alone else _hint(busiest),
    )


def _describe_saturation(busiest: Process, *, is_alone: bool) -> str:
    if is_alone:
        return f"{busiest.title} was busy all the time with hardly more than one request at once"
    if busiest.each >= SATURATED:
        return f"{busiest.title} had no more to give: it was busy all the time"
    if busiest.demand >= SATURATED:
        return f"{busiest.title} had no more to give: it was busy, or waited for a core, all the time"
    return f"the proxy's processes had no more to give: together they filled the core of {busiest.title}"


def loop(e: Evidence) -> Finding | None:
    """Check whether the event loop was late for callbacks that were ready."""
    if e.is_direct:
        return None
    late = e.metric("loop_lag")
    if late is None:
        return unknown("event loop", LOCAL, "how late the event loop was", hint="run it as an investigation")
    took = e.split.mean("latency")
    because = (
        f"what was ready waited {formatting.ms(late)} for its turn, in the mean",
        f"a request, which takes its turn {TURNS} times at least, took {formatting.ms(took)}",
    )
    numbers = {"loop_lag": late, "latency_ms": took}
    if late < LATE_MS or TURNS * late < FELT * took:
        return Finding(
            "event loop", LOCAL, Impact.CLEAR, "the event loop was not late enough to matter", because, numbers
        )
    works = e.busiest is not None and e.busiest.demand >= BUSY
    pinned = len(e.run.cores) if e.run else 0
    works |= bool(pinned) and sum(process.used for process in e.processes or ()) >= SATURATED * pinned
    return Finding(
        "event loop",
        LOCAL,
        Impact.BINDS,
        "the event loop came late, because it had too much to do"
        if works
        else "the event loop was blocked by something that waits, not by work",
        (*because, f"the busiest process used {e.busiest.each:.2f} of a core") if e.busiest else because,
        numbers,
        Confidence.HIGH if works else Confidence.FAIR,
        "a task that sleeps for 10 ms measured it in the proxy itself"
        if works
        else "the loop was late though its process was not busy; which call blocks it was not recorded",
        HINTS[PYTHON]
        if works
        else "Find the call that blocks: `py-spy dump --pid` a few times under load; callbacks that write files, ask a "
        "database or sleep without `await` are the usual ones.",
    )


def waiting(e: Evidence) -> Finding | None:
    """Check whether the time in the proxy was CPU time, or a wait for another resource."""
    if e.is_direct or not e.processes or not e.split.is_upstream_known or not e.split.answered or e.busiest is None:
        return None
    added = e.split.mean("proxy")
    in_line = max(process.waited or 0.0 for process in e.processes)
    worked = (sum(process.used for process in e.processes) + in_line) / e.split.answered * SECOND
    idle = 1 - worked / added if added > 0 else 0.0
    because = (
        f"it added {formatting.ms(added)} to a request, for which its processes worked {formatting.ms(worked)}",
        f"its busiest process used {e.busiest.each:.2f} of a core",
    )
    numbers = {"added_ms": added, "worked_ms": worked}
    if idle < 0:
        # Background work used more CPU time than these few requests.
        return None
    if idle < IDLE:
        return Finding("waiting", LOCAL, Impact.CLEAR, "much of the proxy's time was work", because, numbers)
    # On a full machine, the time without work may be a wait for a core.
    if added < NOTICED_MS or e.split.share("proxy") < FELT or e.busiest.demand >= BUSY or e.is_cramped:
        return None
    return Finding(
        "waiting",
        LOCAL,
        Impact.BINDS if e.split.share("proxy") >= MOST else Impact.COSTS,
        "the proxy did nothing for most of its time: it waited for something",
        because,
        numbers,
        Confidence.FAIR,
        "its CPU time was counted; what it waited for was not",
        "Look for what it asks beside the provider: its database and Valkey, a name server, a pool of connections that "
        "is too small (`database_connection_pool_limit`), a limit (`max_parallel_requests`), a callback that sleeps.",
    )


def _hint(process: Process) -> str:
    return HINTS[PYTHON if process.name.startswith(PYTHON) else ""]
