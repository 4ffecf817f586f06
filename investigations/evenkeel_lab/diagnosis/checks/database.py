"""Checks of Postgres and Valkey, by samples of connections once a second and counters before and after the run.

By Little's law, a request's time in the database is the mean number of busy connections of the proxy, divided by the
requests answered per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel_lab import formatting
from evenkeel_lab.diagnosis.checks.thresholds import FELT, FEW, NOTICED
from evenkeel_lab.diagnosis.finding import Confidence, Finding, Impact, Location, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.diagnosis.evidence import Evidence

LOCAL = Location.LOCAL
MS = 1000.0
# Wait events of a connection that waits for the proxy. In lower case, because releases of Postgres differ in case.
IDLE = ("client:", "activity:", "timeout:")
LOCKS, COMMITS = ("lock:", "lwlock:"), ("io:wal", "lwlock:wal", "ipc:syncrep")
# Estimated round trip to a Valkey on the same machine, through Python's client. The finding says that it is estimated.
COMMAND_MS = 0.3
INVESTIGATE = "run it as an investigation"


@dataclass(frozen=True)
class ConnectionSamples:
    """Samples of the proxy's connections to Postgres."""

    count: int
    """Number of samples."""
    sightings: int
    """Number of busy connections in all samples together."""
    busy: dict[str, float]
    """Mean number of busy connections by wait event; `active` if they did not wait."""
    answered: float
    """Answered requests per second."""

    def of(self, matches: Callable[[str], bool]) -> dict[str, float]:
        """Return the busy connections with wait events that `matches` accepts."""
        return {what: count for what, count in self.busy.items() if matches(what)}

    def ms(self, waits: dict[str, float]) -> float:
        """Return the milliseconds per request that these busy connections amount to."""
        return sum(waits.values()) / self.answered * MS if self.answered else 0.0


def connection_samples(e: Evidence) -> ConnectionSamples | None:
    """Return the samples of the run, or `None` if there are none."""
    if e.run is None or not e.run.database or e.run.seconds <= 0:
        return None
    # Samples are taken about once a second.
    seen = {what: count / e.run.seconds for what, count in e.run.waits.items() if not what.lower().startswith(IDLE)}
    sightings = sum(count for what, count in e.run.waits.items() if what in seen)
    return ConnectionSamples(int(e.run.seconds), sightings, seen, e.split.answered)


def is_commit(what: str) -> bool:
    """Whether a wait event is a wait for a commit to reach the disk."""
    return what.lower().startswith(COMMITS)


def is_lock(what: str) -> bool:
    """Whether a wait event is a wait for another connection."""
    return what.lower().startswith(LOCKS) and not is_commit(what)


def locks(e: Evidence) -> Finding | None:
    """Check whether transactions waited for each other."""
    return _waits(
        e,
        "locks",
        is_lock,
        "transactions waited for each other",
        "Let fewer requests write the same row: spend of one key, team or user is one row; write it in batches "
        "(`proxy_batch_write_at`), or through Redis (`use_redis_transaction_buffer`).",
    )


def commits(e: Evidence) -> Finding | None:
    """Check whether transactions waited for the disk."""
    return _waits(
        e,
        "commits",
        is_commit,
        "transactions waited for the disk to keep them",
        "Commit less often: write in batches (`proxy_batch_write_at`); take a faster disk, or `synchronous_commit=off` "
        "where the last moments may be lost.",
    )


def _waits(e: Evidence, check: str, matches: Callable[[str], bool], verdict: str, hint: str) -> Finding | None:
    seen = connection_samples(e)
    if seen is None:
        return None
    waits = seen.of(matches)
    took, share = seen.ms(waits), _share(seen.ms(waits), e)
    deadlocks = e.run.database.get("deadlocks", 0) if e.run and check == "locks" else 0
    numbers = {"ms": took, "share": share, **waits}
    if share < NOTICED and not deadlocks:
        return Finding(check, LOCAL, Impact.CLEAR, f"hardly any {verdict}", _seen(waits, took, e), numbers)
    because = (*_seen(waits, took, e), *([f"{deadlocks} deadlocks"] if deadlocks else []))
    impact = Impact.BINDS if share >= FELT and seen.sightings >= FEW else Impact.COSTS
    worst = f" ({max(waits, key=lambda what: waits[what])})" if waits else ""
    return Finding(check, LOCAL, impact, verdict + worst, because, numbers, *_confidence(seen), hint)


def work(e: Evidence) -> Finding | None:
    """Report the time that requests spent in the database in total."""
    if e.is_direct:
        return None
    seen = connection_samples(e)
    if seen is None:
        return unknown("database", LOCAL, "what Postgres was asked, and what was waited for there", hint=INVESTIGATE)
    took, calls = seen.ms(seen.busy), e.metric("database_calls")
    share = _share(took, e)
    because = list(_seen(seen.busy, took, e))
    if calls is not None:
        because.append(f"{calls:.1f} transactions for a request")
    spilled = e.run.database.get("temp_files", 0) if e.run else 0
    if spilled:
        because.append(f"{spilled} results did not fit into memory (temporary files)")
    binds = share >= FELT and seen.sightings >= FEW
    impact = Impact.BINDS if binds else Impact.COSTS if share >= NOTICED else Impact.CLEAR
    return Finding(
        "database",
        LOCAL,
        impact,
        "the database took little of it" if impact is Impact.CLEAR else "requests spent their time in the database",
        tuple(because),
        {"ms": took, "share": share} | ({} if calls is None else {"calls": calls}),
        *_confidence(seen),
        "Ask it less for each request: cache what auth looks up (`user_api_key_cache_ttl`, `enable_redis_auth_cache`), "
        "send ids that come again, and write spend in batches.",
    )


def valkey(e: Evidence) -> Finding | None:
    """Estimate the time that requests spent in Valkey."""
    if e.is_direct:
        return None
    calls = e.metric("valkey_calls")
    if calls is None:
        return unknown("valkey", LOCAL, "what Valkey was asked", hint=INVESTIGATE)
    took = calls * COMMAND_MS
    share = _share(took, e)
    return Finding(
        "valkey",
        LOCAL,
        Impact.COSTS if share >= FELT else Impact.CLEAR,
        "requests may spend their time asking Valkey" if share >= FELT else "Valkey was asked little",
        (f"{calls:.1f} commands for a request; at about {COMMAND_MS} ms each, {formatting.ms(took)}",),
        {"calls": calls, "ms": took, "share": share},
        Confidence.LOW,
        "commands were counted, not timed",
        "Take callbacks and limits away that ask it for each request, or let them ask in one pipeline.",
    )


def _share(took: float, e: Evidence) -> float:
    """Return the share of `took`, in milliseconds, in the mean latency."""
    latency = e.split.mean("latency")
    return took / latency if latency > 0 else 0.0


def _seen(waits: dict[str, float], took: float, e: Evidence) -> tuple[str, ...]:
    text = ", ".join(f"{what} {count:.2f}" for what, count in sorted(waits.items(), key=lambda wait: -wait[1]))
    return (
        f"connections at once: {text or 'none'}",
        f"which is about {formatting.ms(took)} of a request's {formatting.ms(e.split.mean('latency'))}",
    )


def _confidence(seen: ConnectionSamples) -> tuple[Confidence, str]:
    if min(seen.count, seen.sightings) < FEW:
        return (
            Confidence.LOW,
            f"{seen.sightings} busy connections in {seen.count} looks, one a second: that may be chance",
        )
    return (
        Confidence.FAIR,
        f"{seen.count} looks at its connections, one a second; queries that belong to no request count too",
    )
