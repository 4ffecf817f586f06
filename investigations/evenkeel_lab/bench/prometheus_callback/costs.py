"""CPU time and allocated memory of an event: three callbacks in alternation, on the same events."""

from __future__ import annotations

import statistics
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, NOOP, SEED, STOCK
from evenkeel_lab.bench.prometheus_callback.replay_process import start_replay
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.variations import SUCCESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.replay_process import ReplaySetup

ARMS: Final = (NOOP, STOCK, EVENKEEL)
ROUNDS: Final = 7
# One scrape every fifteen seconds at two hundred requests a second, which is the most that a worker serves.
EVENTS: Final = 3_000
# As many label sets as were recorded: the cost of a scrape depends on its series, not on the events.
POPULATION: Final = Population(clients=1, end_users=1, variations=False)
MICRO: Final = 1e6


@dataclass(frozen=True)
class Cost:
    """The cost of a success event, without that of the event loop."""

    stock: float
    ours: float
    ratio: float
    """The median of the rounds' ratios: within a round, the machine's other load affects both."""

    @classmethod
    def from_rounds(cls, rounds: Mapping[str, Sequence[float]]) -> Cost:
        """Return the medians of rounds, in each of which all arms were measured."""
        stock = [cost - loop for cost, loop in zip(rounds[STOCK], rounds[NOOP], strict=True)]
        ours = [cost - loop for cost, loop in zip(rounds[EVENKEEL], rounds[NOOP], strict=True)]
        ratio = statistics.median(theirs / own for theirs, own in zip(stock, ours, strict=True))
        return cls(statistics.median(stock), statistics.median(ours), ratio)


@dataclass(frozen=True)
class Costs:
    """All costs in one version of LiteLLM."""

    litellm: str
    cpu: Cost
    """In microseconds."""
    bytes: Cost
    blocks: Cost


def success_events(recorded: Sequence[Event], number: int) -> list[Event]:
    """Draw `number` success events without variations."""
    usual = [event for event in recorded if event.hook == SUCCESS]
    return Sampler(usual, POPULATION, SEED).draw(number)


async def cpu_of_an_event(setup: ReplaySetup, recorded: Sequence[Event], rounds: int = ROUNDS) -> Cost:
    """Measure the CPU time of a success event, in microseconds."""
    events = success_events(recorded, EVENTS)
    return Cost.from_rounds(await _cpu(setup, {arm: arm for arm in ARMS}, events, rounds))


async def measure_costs(
    setup: ReplaySetup,
    litellm: str,
    recorded: Sequence[Event],
    *,
    arms: Mapping[str, str] | None = None,
    rounds: int = ROUNDS,
) -> Costs:
    """Measure all costs. `arms` may replace the callbacks of `ARMS`, to test the measurement itself."""
    callbacks = arms or {arm: arm for arm in ARMS}
    events = success_events(recorded, EVENTS)
    cpu = await _cpu(setup, callbacks, events, rounds)
    allocated = {arm: await _allocations(setup, callbacks[arm], events) for arm in ARMS}
    by_kind = {kind: {arm: [reply[kind] / EVENTS] for arm, reply in allocated.items()} for kind in ("bytes", "blocks")}
    return Costs(
        litellm, Cost.from_rounds(cpu), Cost.from_rounds(by_kind["bytes"]), Cost.from_rounds(by_kind["blocks"])
    )


async def _cpu(
    setup: ReplaySetup, callbacks: Mapping[str, str], events: Sequence[Event], rounds: int
) -> dict[str, list[float]]:
    """Return the microseconds of an event for each arm, round by round."""
    microseconds: dict[str, list[float]] = defaultdict(list)
    async with AsyncExitStack() as replays_end:
        replays = {
            arm: await replays_end.enter_async_context(start_replay(setup, callbacks[arm], events)) for arm in ARMS
        }
        for number in range(rounds + 1):
            for arm, replay in replays.items():
                reply = await replay.execute("measure_cpu")
                # The first round is like a proxy's first minute: it fills caches and creates series.
                if number:
                    microseconds[arm].append(reply["cpu_seconds"] / reply["events"] * MICRO)
    return microseconds


async def _allocations(setup: ReplaySetup, callback: str, events: Sequence[Event]) -> dict[str, Any]:
    """Return the allocations of all events. All series exist before, because they are created only once."""
    async with start_replay(setup, callback, events) as replay:
        await replay.execute("feed")
        await replay.execute("scrape")
        return await replay.execute("measure_allocations")
