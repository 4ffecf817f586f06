"""How long an event is kept waiting while Postgres is dead, or hangs, and budgets are asked for all the time."""

from __future__ import annotations

import asyncio
import math
import re
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED
from evenkeel_lab.bench.prometheus_callback.running import replaying
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.variations import SUCCESS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.running import Ground

EVENTS: Final = 1_500
ROUNDS: Final = 5
# Somebody new with most of the events, whom nobody knows.
CROWD: Final = Crowd(callers=1_000, variations=False)
# Values age as soon as that, so that the server is tried again and again.
IMPATIENT: Final = {f"EVENKEEL_BUDGETS_{name}": "1" for name in ("TTL", "NEGATIVE_TTL")}
FAILURES: Final = re.compile(r"^evenkeel_budget_lookup_failures_total\{.*source=\"postgres\".*\} (\S+)$", re.MULTILINE)
MILLI: Final = 1e3


@dataclass(frozen=True)
class Stalls:
    """What was seen, with one kind of Postgres."""

    server: str
    ms: float
    """For how long an event was kept waiting at most: of several rounds, the median."""
    failures: float
    """How many lookups failed: if none did, nothing was tried."""

    def __str__(self) -> str:
        return f"{self.server}: {self.ms:.2f} ms, {self.failures:,.0f} lookups failed"


def delay(seen: Sequence[Stalls]) -> float:
    """Return by how much longer an event is kept waiting, in milliseconds, than without any database."""
    without, *others = seen
    if not all(one.failures for one in others):
        # Nothing was asked for, and so nothing was shown.
        return math.inf
    return max(0.0, *(one.ms - without.ms for one in others))


async def stalls(ground: Ground, recorded: Sequence[Event]) -> list[Stalls]:
    """Measure, without a database, with a dead one and with one that hangs."""
    # Those that LiteLLM's own code counts keep the loop as long as it takes.
    events = Sampler([event for event in recorded if event.hook == SUCCESS], CROWD, SEED).draw(EVENTS)
    found = [await _stalls(ground, events, "none", {})]
    with socket.socket() as taken:
        # Bound, and not listening: whoever connects is refused.
        taken.bind(("127.0.0.1", 0))
        found.append(await _stalls(ground, events, "dead", _address(taken.getsockname()[1])))
    async with _silent() as port:
        found.append(await _stalls(ground, events, "hanging", _address(port)))
    return found


async def _stalls(ground: Ground, events: Sequence[Event], server: str, environment: Mapping[str, str]) -> Stalls:
    here = replace(ground, environment={**ground.environment, **IMPATIENT, **environment})
    async with replaying(here, EVENKEEL, events) as replay:
        # Plans are made once, and drivers are loaded once.
        await replay.wish("pace")
        rounds = [await replay.wish("pace") for _ in range(ROUNDS)]
        scrape = (await replay.wish("scrape"))["scrape"]
    worst = sorted(one["worst_seconds"] for one in rounds)[ROUNDS // 2]
    return Stalls(server, worst * MILLI, sum(map(float, FAILURES.findall(scrape))))


def _address(port: int) -> dict[str, str]:
    return {"DATABASE_URL": f"postgresql://nobody:nothing@127.0.0.1:{port}/none"}


@asynccontextmanager
async def _silent() -> AsyncIterator[int]:
    """Have a server that takes connections, and never says anything."""
    taken: set[asyncio.StreamWriter] = set()

    async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.add(writer)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        for writer in taken:
            writer.close()
        server.close()
