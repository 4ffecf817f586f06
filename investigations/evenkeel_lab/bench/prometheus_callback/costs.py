"""What an event costs, in CPU and in memory asked for: three callbacks in turn, on the same events."""

from __future__ import annotations

import statistics
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, NOOP, SEED, STOCK
from evenkeel_lab.bench.prometheus_callback.running import replaying
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.variations import SUCCESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.running import Ground

ARMS: Final = (NOOP, STOCK, EVENKEEL)
ROUNDS: Final = 7
# A scrape every fifteen seconds, and two hundred requests a second: as much as a worker bears.
EVENTS: Final = 3_000
# As many label sets as were recorded: what a scrape takes is its series', not its events'.
CROWD: Final = Crowd(callers=1, end_users=1, variations=False)
MICRO: Final = 1e6


@dataclass(frozen=True)
class Cost:
    """What a success event costs, that of the loop taken away."""

    stock: float
    ours: float
    ratio: float
    """Of each round, the median: what else a machine does meets both."""

    @classmethod
    def of(cls, rounds: Mapping[str, Sequence[float]]) -> Cost:
        """Return it, of rounds in which the arms were measured in turn."""
        stock = [one - loop for one, loop in zip(rounds[STOCK], rounds[NOOP], strict=True)]
        ours = [one - loop for one, loop in zip(rounds[EVENKEEL], rounds[NOOP], strict=True)]
        ratio = statistics.median(theirs / own for theirs, own in zip(stock, ours, strict=True))
        return cls(statistics.median(stock), statistics.median(ours), ratio)


@dataclass(frozen=True)
class Costs:
    """All of a LiteLLM."""

    litellm: str
    cpu: Cost
    """In microseconds."""
    bytes: Cost
    blocks: Cost


def successes(recorded: Sequence[Event], number: int) -> list[Event]:
    """Return so many successful events as they usually are."""
    usual = [event for event in recorded if event.hook == SUCCESS]
    return Sampler(usual, CROWD, SEED).draw(number)


async def costs(
    ground: Ground,
    litellm: str,
    recorded: Sequence[Event],
    *,
    arms: Mapping[str, str] | None = None,
    rounds: int = ROUNDS,
) -> Costs:
    """Measure. Which callback is which of the arms may be said otherwise: to try the rig on itself."""
    callbacks = arms or {arm: arm for arm in ARMS}
    events = successes(recorded, EVENTS)
    used = await _cpu(ground, callbacks, events, rounds)
    asked = {arm: await _allocated(ground, callbacks[arm], events) for arm in ARMS}
    by_kind = {kind: {arm: [told[kind] / EVENTS] for arm, told in asked.items()} for kind in ("bytes", "blocks")}
    return Costs(litellm, Cost.of(used), Cost.of(by_kind["bytes"]), Cost.of(by_kind["blocks"]))


async def _cpu(
    ground: Ground, callbacks: Mapping[str, str], events: Sequence[Event], rounds: int
) -> dict[str, list[float]]:
    """Return the microseconds of an event, round by round."""
    found: dict[str, list[float]] = defaultdict(list)
    async with AsyncExitStack() as running:
        replays = {arm: await running.enter_async_context(replaying(ground, callbacks[arm], events)) for arm in ARMS}
        for number in range(rounds + 1):
            for arm, replay in replays.items():
                told = await replay.wish("measure")
                # The first is a proxy's first minute: caches are filled, series are made.
                if number:
                    found[arm].append(told["cpu_seconds"] / told["events"] * MICRO)
    return found


async def _allocated(ground: Ground, callback: str, events: Sequence[Event]) -> dict[str, Any]:
    """Return what was asked for meanwhile; all series are there before, as they are but once."""
    async with replaying(ground, callback, events) as replay:
        await replay.wish("feed")
        await replay.wish("scrape")
        return await replay.wish("allocate")
