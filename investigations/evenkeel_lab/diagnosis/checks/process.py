"""Whether a process of the proxy was busy all the time, or its event loop was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import BUSY, CROWD, FELT, MOST, NOTICED, SATURATED
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold
from evenkeel_lab.diagnosis.processes import PYTHON

if TYPE_CHECKING:
    from evenkeel_lab.diagnosis.evidence import Evidence
    from evenkeel_lab.diagnosis.processes import Process

LOCAL = Place.LOCAL
SECOND = 1000.0
# Of what the proxy added: when three quarters of it are nobody's work, it is no matter of CPU.
IDLE = 0.75
# A request waits for the loop at least twice, on its way in and on its way out; more often, as a rule.
TURNS = 2
# What nobody notices beside a provider that takes its time is not worth a finding.
NOTICED_MS = 50.0
# What a loop is late by when nothing is wrong: a turn or two of ordinary work.
LATE_MS = 5.0
HINTS = {
    PYTHON: "Start more workers (--num_workers), take callbacks away that do work for each request, or give each "
    "request less to do; py-spy shows where the time goes.",
    "": "Ask it less: cache what is looked up for each request, and write in batches.",
}


ALONE = "Give each request less to do; more workers would answer more of them, but none of them sooner."


def cpu(e: Evidence) -> Finding | None:
    """Say which process had no more to give."""
    if e.is_direct:
        return None
    busiest = e.busiest
    if busiest is None:
        return untold("cpu", LOCAL, "what the proxy's processes used", hint="load it with --pid, the proxy's process")
    used = sum(one.used for one in e.processes or ())
    pinned = len(e.run.cores) if e.run else 0
    because = [f"{one.title} used {one.used:.2f} cores" for one in e.processes or () if one.used >= 0.01]  # noqa: PLR2004  # a hundredth is nothing
    if pinned:
        because.append(f"all of them were kept on {pinned} core{'s' if pinned > 1 else ''}")
    if busiest.waited is not None and busiest.waited >= NOTICED:
        because.append(f"{busiest.title} stood in line for a core for another {formatting.share(busiest.waited)}")
    numbers = {"busiest": busiest.each, "used": used}
    is_full = busiest.wanted >= SATURATED or (pinned and used >= SATURATED * pinned)
    if not is_full:
        state = State.COSTS if busiest.each >= BUSY else State.CLEAR
        said = "is busy, but has room" if state is State.COSTS else "had room"
        return Finding("cpu", LOCAL, state, f"{busiest.title} {said}", tuple(because), numbers, hint=_hint(busiest))
    # Without a split, that a process is full is all there is to go by.
    # Chunks of a stream wait for it as well, though nobody knows how long.
    share = e.split.share("proxy") + e.split.share("stream") if e.split.is_told else 1.0
    is_alone = e.split.is_told and e.split.inside < CROWD and e.split.stream is None
    return Finding(
        "cpu",
        LOCAL,
        State.BINDS if share >= NOTICED else State.COSTS,
        _said(busiest, is_alone=is_alone)
        if share >= NOTICED
        else f"{busiest.title} is at its limit, though hardly anything waits for it",
        tuple(because),
        numbers,
        Sure.HIGH if busiest.count == 1 else Sure.FAIR,
        "its CPU time was counted; Python does one thing at a time in a process"
        if busiest.name.startswith(PYTHON)
        else "its CPU time was counted",
        ALONE if is_alone else _hint(busiest),
    )


def _said(busiest: Process, *, is_alone: bool) -> str:
    if is_alone:
        return f"{busiest.title} was busy all the time with hardly more than one request at once"
    if busiest.each >= SATURATED:
        return f"{busiest.title} had no more to give: it was busy all the time"
    if busiest.wanted >= SATURATED:
        return f"{busiest.title} had no more to give: it was busy, or stood in line for a core, all the time"
    return f"the proxy's processes had no more to give: together they filled the core of {busiest.title}"


def loop(e: Evidence) -> Finding | None:
    """Say whether the event loop came late to what was ready."""
    if e.is_direct:
        return None
    late = e.figure("loop_lag")
    if late is None:
        return untold("event loop", LOCAL, "how late the event loop was", hint="run it as an investigation")
    took = e.split.mean("latency")
    because = (
        f"what was ready waited {formatting.ms(late)} for its turn, in the mean",
        f"a request, which takes its turn {TURNS} times at least, took {formatting.ms(took)}",
    )
    numbers = {"loop_lag": late, "latency_ms": took}
    if late < LATE_MS or TURNS * late < FELT * took:
        return Finding(
            "event loop", LOCAL, State.CLEAR, "the event loop was not late enough to matter", because, numbers
        )
    works = e.busiest is not None and e.busiest.wanted >= BUSY
    pinned = len(e.run.cores) if e.run else 0
    works |= bool(pinned) and sum(one.used for one in e.processes or ()) >= SATURATED * pinned
    return Finding(
        "event loop",
        LOCAL,
        State.BINDS,
        "the event loop came late, because it had too much to do"
        if works
        else "the event loop was blocked by something that waits, not by work",
        (*because, f"the busiest process used {e.busiest.each:.2f} of a core") if e.busiest else because,
        numbers,
        Sure.HIGH if works else Sure.FAIR,
        "a task that sleeps for 10 ms measured it in the proxy itself"
        if works
        else "the loop was late though its process was not busy; which call blocks it was not recorded",
        HINTS[PYTHON]
        if works
        else "Find the call that blocks: `py-spy dump --pid` a few times under load; callbacks that write files, ask a "
        "database or sleep without `await` are the usual ones.",
    )


def waiting(e: Evidence) -> Finding | None:
    """Say whether what the proxy added was work, or time in which none of its processes did anything."""
    if e.is_direct or not e.processes or not e.split.is_told or not e.split.answered or e.busiest is None:
        return None
    added = e.split.mean("proxy")
    in_line = max(one.waited or 0.0 for one in e.processes)
    worked = (sum(one.used for one in e.processes) + in_line) / e.split.answered * SECOND
    idle = 1 - worked / added if added > 0 else 0.0
    because = (
        f"it added {formatting.ms(added)} to a request, for which its processes worked {formatting.ms(worked)}",
        f"its busiest process used {e.busiest.each:.2f} of a core",
    )
    numbers = {"added_ms": added, "worked_ms": worked}
    if idle < 0:
        # It works on the side, too, and more so than for so few requests.
        return None
    if idle < IDLE:
        return Finding("waiting", LOCAL, State.CLEAR, "much of the proxy's time was work", because, numbers)
    # On a full machine, what is nobody's work may be a wait for a core.
    if added < NOTICED_MS or e.split.share("proxy") < FELT or e.busiest.wanted >= BUSY or e.is_cramped:
        return None
    return Finding(
        "waiting",
        LOCAL,
        State.BINDS if e.split.share("proxy") >= MOST else State.COSTS,
        "the proxy did nothing for most of its time: it waited for something",
        because,
        numbers,
        Sure.FAIR,
        "its CPU time was counted; what it waited for was not",
        "Look for what it asks beside the provider: its database and Valkey, a name server, a pool of connections that "
        "is too small (`database_connection_pool_limit`), a limit (`max_parallel_requests`), a callback that sleeps.",
    )


def _hint(process: Process) -> str:
    return HINTS[PYTHON if process.name.startswith(PYTHON) else ""]
