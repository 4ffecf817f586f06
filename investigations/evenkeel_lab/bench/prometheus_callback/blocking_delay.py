"""The delay of events while Postgres is dead, or hangs, and budgets are looked up all the time."""

from __future__ import annotations

import asyncio
import math
import re
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED
from evenkeel_lab.bench.prometheus_callback.replay_process import start_replay
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.variations import SUCCESS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.replay_process import ReplaySetup

EVENTS: Final = 1_500
ROUNDS: Final = 5
# With this many clients, most events need the budgets of a client that is not cached yet.
POPULATION: Final = Population(clients=1_000, variations=False)
# Cached budgets expire after one second, so that the server is tried again and again.
SHORT_TTLS: Final = {f"EVENKEEL_BUDGETS_{name}": "1" for name in ("TTL", "NEGATIVE_TTL")}
FAILURES: Final = re.compile(r"^evenkeel_budget_lookup_failures_total\{.*source=\"postgres\".*\} (\S+)$", re.MULTILINE)
MILLI: Final = 1e3


@dataclass(frozen=True)
class Delay:
    """The delay of events with one kind of Postgres."""

    server: str
    ms: float
    """The largest delay of an event: the median of several rounds."""
    failures: float
    """The number of failed lookups. If it is 0, no connection was tried."""

    def __str__(self) -> str:
        return f"{self.server}: {self.ms:.2f} ms, {self.failures:,.0f} lookups failed"


def added_delay_ms(delays: Sequence[Delay]) -> float:
    """Return how many milliseconds longer an event is delayed than without a database, the first of `delays`.

    `inf` if no lookup failed: then nothing was measured.
    """
    without, *others = delays
    if not all(delay.failures for delay in others):
        return math.inf
    return max(0.0, *(delay.ms - without.ms for delay in others))


async def blocking_delays(setup: ReplaySetup, recorded: Sequence[Event]) -> list[Delay]:
    """Measure the delays without a database, with a dead one and with one that hangs."""
    # Only success events: the others are counted by LiteLLM's own code, which blocks the event loop itself.
    events = Sampler([event for event in recorded if event.hook == SUCCESS], POPULATION, SEED).draw(EVENTS)
    delays = [await _measure_delay(setup, events, "none", {})]
    with socket.socket() as bound:
        # The port is bound and nothing listens, so connections are refused.
        bound.bind(("127.0.0.1", 0))
        delays.append(await _measure_delay(setup, events, "dead", _database_url(bound.getsockname()[1])))
    async with _hanging_server() as port:
        delays.append(await _measure_delay(setup, events, "hanging", _database_url(port)))
    return delays


async def _measure_delay(
    setup: ReplaySetup, events: Sequence[Event], server: str, environment: Mapping[str, str]
) -> Delay:
    with_server = replace(setup, environment={**setup.environment, **SHORT_TTLS, **environment})
    async with start_replay(with_server, EVENKEEL, events) as replay:
        # Not counted: the first round builds update plans and loads drivers.
        await replay.execute("measure_delay")
        rounds = [await replay.execute("measure_delay") for _ in range(ROUNDS)]
        scrape = (await replay.execute("scrape"))["scrape"]
    worst = sorted(reply["worst_seconds"] for reply in rounds)[ROUNDS // 2]
    return Delay(server, worst * MILLI, sum(map(float, FAILURES.findall(scrape))))


def _database_url(port: int) -> dict[str, str]:
    return {"DATABASE_URL": f"postgresql://user:password@127.0.0.1:{port}/none"}


@asynccontextmanager
async def _hanging_server() -> AsyncIterator[int]:
    """Run a server that accepts connections and never answers. Yield its port."""
    connections: set[asyncio.StreamWriter] = set()

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        for writer in connections:
            writer.close()
        server.close()
