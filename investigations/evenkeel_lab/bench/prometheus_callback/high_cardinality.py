"""A scrape after fifty thousand end users: how big, how long, and whether all of them are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED, STOCK
from evenkeel_lab.bench.prometheus_callback.running import replaying
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import families
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.running import Ground

USERS: Final = 50_000
STOCK_USERS: Final = 500
SCRAPES: Final = 5
MIB, MILLI = 2**20, 1e3
REQUESTS: Final = ("litellm_requests_metric", "litellm_requests_metric_total")


@dataclass(frozen=True)
class Crowded:
    """What a scrape was."""

    users: int
    mib: float
    ms: float
    """Of several, the median."""
    lost: float
    """How many requests are in no series."""


async def crowded(ground: Ground, recorded: Sequence[Event], callback: str, users: int) -> Crowded:
    """Feed an event of each end user, then scrape."""
    events = Sampler(recorded, Crowd(variations=False), SEED).end_users(users)
    async with replaying(replace(ground, settings=MATRIX["end users"]), callback, events) as replay:
        await replay.wish("feed")
        scrapes = [await replay.wish("scrape") for _ in range(SCRAPES)]
    last = scrapes[-1]
    times = sorted(one["seconds"] for one in scrapes)
    name, sample = REQUESTS
    series = families(last["scrape"])[name].series
    counted = sum(value for (one, _), value in series.items() if one == sample)
    return Crowded(users, last["bytes"] / MIB, times[SCRAPES // 2] * MILLI, users - counted)


async def both(ground: Ground, recorded: Sequence[Event], ours: str = EVENKEEL) -> tuple[Crowded, Crowded]:
    """Return ours with all of them, and stock's with so few that it ends."""
    return await crowded(ground, recorded, ours, USERS), await crowded(ground, recorded, STOCK, STOCK_USERS)
