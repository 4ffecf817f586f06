"""What Postgres and Valkey had to do with it: looked at once a second, and counted before and after.

By Little's law, what a request spends in the database is how many of the proxy's connections were busy in the mean,
divided by how many requests were answered in a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FELT, FEW, NOTICED
from evenkeel_lab.diagnosis.finding import Finding, Place, State, Sure, untold

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.diagnosis.evidence import Evidence

LOCAL = Place.LOCAL
MS = 1000.0
# What a connection waits for while it is the proxy's turn. In small letters: releases of Postgres differ in theirs.
HARMLESS = ("client:", "activity:", "timeout:")
LOCKS, COMMITS = ("lock:", "lwlock:"), ("io:wal", "lwlock:wal", "ipc:syncrep")
# A round trip to a Valkey on the same machine, through Python's client: a guess, and said to be one.
COMMAND_MS = 0.3
INVESTIGATE = "run it as an investigation"


@dataclass(frozen=True)
class Looks:
    """The proxy's connections to Postgres, as they were found."""

    looks: int
    sightings: int
    """How many busy connections were seen in all."""
    busy: dict[str, float]
    """How many were about what, in the mean."""
    answered: float

    def of(self, wanted: Callable[[str], bool]) -> dict[str, float]:
        """Return some of them."""
        return {what: count for what, count in self.busy.items() if wanted(what)}

    def ms(self, found: dict[str, float]) -> float:
        """Return what of it falls upon a request."""
        return sum(found.values()) / self.answered * MS if self.answered else 0.0


def looks(e: Evidence) -> Looks | None:
    """Return what was seen; None if nobody looked."""
    if e.run is None or not e.run.database or e.run.seconds <= 0:
        return None
    # Somebody looked once a second, and a little less often than that.
    seen = {what: count / e.run.seconds for what, count in e.run.waits.items() if not what.lower().startswith(HARMLESS)}
    sightings = sum(count for what, count in e.run.waits.items() if what in seen)
    return Looks(int(e.run.seconds), sightings, seen, e.split.answered)


def is_commit(what: str) -> bool:
    """Whether a connection waited for what it has written to be safe on disk."""
    return what.lower().startswith(COMMITS)


def is_lock(what: str) -> bool:
    """Whether a connection waited for another one."""
    return what.lower().startswith(LOCKS) and not is_commit(what)


def locks(e: Evidence) -> Finding | None:
    """Say whether transactions waited for each other."""
    return _waits(
        e,
        "locks",
        is_lock,
        "transactions waited for each other",
        "Let fewer requests write the same row: spend of one key, team or user is one row; write it in batches "
        "(`proxy_batch_write_at`), or through Redis (`use_redis_transaction_buffer`).",
    )


def commits(e: Evidence) -> Finding | None:
    """Say whether transactions waited for the disk."""
    return _waits(
        e,
        "commits",
        is_commit,
        "transactions waited for the disk to keep them",
        "Commit less often: write in batches (`proxy_batch_write_at`); take a faster disk, or `synchronous_commit=off` "
        "where the last moments may be lost.",
    )


def _waits(e: Evidence, check: str, wanted: Callable[[str], bool], verdict: str, hint: str) -> Finding | None:
    seen = looks(e)
    if seen is None:
        return None
    found = seen.of(wanted)
    took, share = seen.ms(found), _share(seen.ms(found), e)
    deadlocks = e.run.database.get("deadlocks", 0) if e.run and check == "locks" else 0
    numbers = {"ms": took, "share": share, **found}
    if share < NOTICED and not deadlocks:
        return Finding(check, LOCAL, State.CLEAR, f"hardly any {verdict}", _seen(found, took, e), numbers)
    because = (*_seen(found, took, e), *([f"{deadlocks} deadlocks"] if deadlocks else []))
    state = State.BINDS if share >= FELT and seen.sightings >= FEW else State.COSTS
    worst = f" ({max(found, key=lambda what: found[what])})" if found else ""
    return Finding(check, LOCAL, state, verdict + worst, because, numbers, *_sure(seen), hint)


def work(e: Evidence) -> Finding | None:
    """Say what the database took in all."""
    if e.is_direct:
        return None
    seen = looks(e)
    if seen is None:
        return untold("database", LOCAL, "what Postgres was asked, and what was waited for there", hint=INVESTIGATE)
    took, calls = seen.ms(seen.busy), e.figure("database_calls")
    share = _share(took, e)
    because = list(_seen(seen.busy, took, e))
    if calls is not None:
        because.append(f"{calls:.1f} transactions for a request")
    spilled = e.run.database.get("temp_files", 0) if e.run else 0
    if spilled:
        because.append(f"{spilled} results did not fit into memory (temporary files)")
    binds = share >= FELT and seen.sightings >= FEW
    state = State.BINDS if binds else State.COSTS if share >= NOTICED else State.CLEAR
    return Finding(
        "database",
        LOCAL,
        state,
        "the database took little of it" if state is State.CLEAR else "requests spent their time in the database",
        tuple(because),
        {"ms": took, "share": share} | ({} if calls is None else {"calls": calls}),
        *_sure(seen),
        "Ask it less for each request: cache what auth looks up (`user_api_key_cache_ttl`, `enable_redis_auth_cache`), "
        "send ids that come again, and write spend in batches.",
    )


def valkey(e: Evidence) -> Finding | None:
    """Say what Valkey may have taken."""
    if e.is_direct:
        return None
    calls = e.figure("valkey_calls")
    if calls is None:
        return untold("valkey", LOCAL, "what Valkey was asked", hint=INVESTIGATE)
    took = calls * COMMAND_MS
    share = _share(took, e)
    return Finding(
        "valkey",
        LOCAL,
        State.COSTS if share >= FELT else State.CLEAR,
        "requests may spend their time asking Valkey" if share >= FELT else "Valkey was asked little",
        (f"{calls:.1f} commands for a request; at about {COMMAND_MS} ms each, {formatting.ms(took)}",),
        {"calls": calls, "ms": took, "share": share},
        Sure.LOW,
        "commands were counted, not timed",
        "Take callbacks and limits away that ask it for each request, or let them ask in one pipeline.",
    )


def _share(took: float, e: Evidence) -> float:
    """Return which share of the latency that is."""
    whole = e.split.mean("latency")
    return took / whole if whole > 0 else 0.0


def _seen(found: dict[str, float], took: float, e: Evidence) -> tuple[str, ...]:
    told = ", ".join(f"{what} {count:.2f}" for what, count in sorted(found.items(), key=lambda one: -one[1]))
    return (
        f"connections at once: {told or 'none'}",
        f"which is about {formatting.ms(took)} of a request's {formatting.ms(e.split.mean('latency'))}",
    )


def _sure(seen: Looks) -> tuple[Sure, str]:
    if min(seen.looks, seen.sightings) < FEW:
        return Sure.LOW, f"{seen.sightings} busy connections in {seen.looks} looks, one a second: that may be chance"
    return Sure.FAIR, f"{seen.looks} looks at its connections, one a second; what is asked beside requests counts too"
