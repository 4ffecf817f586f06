"""Cost of many values of a label: an event and a scrape of either callback, by the number of end users."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from evenkeel_lab.bench.prometheus_callback.events import events_file, read_events
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED, replay_setups, start_replay
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.replay_process import Replay

LEAST_EVENTS = 2_000
MICRO, MILLI = 1e6, 1e3


async def event(seed: int, *, callback: str, users: int) -> float:
    """Return the microseconds of CPU time of an event, when all end users have had one before."""
    events = _events(seed, users)
    async with _replay(callback, events) as replay:
        # The first round creates the series.
        await replay.execute("feed")
        reply = await replay.execute("measure_cpu")
    return float((reply["cpu_seconds"] - reply["scrape_cpu_seconds"]) / reply["events"] * MICRO)


async def scrape(seed: int, *, callback: str, users: int) -> float:
    """Return the milliseconds of a scrape, in which the event loop does nothing else."""
    async with _replay(callback, _events(seed, users)) as replay:
        await replay.execute("feed")
        await replay.execute("scrape")
        reply = await replay.execute("scrape")
    return float(reply["seconds"] * MILLI)


@cache
def _recorded() -> Sequence[Event]:
    return read_events(events_file(RECORDED))


def _events(seed: int, users: int) -> list[Event]:
    """Return events of all end users, at least `LEAST_EVENTS`."""
    events = Sampler(_recorded(), Population(variations=False), seed).end_users(users)
    return events * math.ceil(LEAST_EVENTS / users)


@asynccontextmanager
async def _replay(callback: str, events: Sequence[Event]) -> AsyncIterator[Replay]:
    setups = await replay_setups([RECORDED])
    # Labels are the callback's matter, so that a stub may stand in for the proxy, which takes half a minute to import.
    setup = replace(setups[RECORDED], bare=True, settings=MATRIX["end users"])
    async with start_replay(setup, callback, events) as replay:
        yield replay
