"""A scrape with fifty thousand end users: its size, its duration, and whether every request is counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED, STOCK
from evenkeel_lab.bench.prometheus_callback.replay_process import start_replay
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import families
from evenkeel_lab.bench.prometheus_callback.settings_matrix import MATRIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.replay_process import ReplaySetup

USERS: Final = 50_000
STOCK_USERS: Final = 500
SCRAPES: Final = 5
MIB, MILLI = 2**20, 1e3
REQUESTS: Final = ("litellm_requests_metric", "litellm_requests_metric_total")


@dataclass(frozen=True)
class LargeScrape:
    """The size and the duration of a scrape after one event of each of many end users."""

    users: int
    mib: float
    ms: float
    """The median of `SCRAPES` scrapes."""
    lost: float
    """The number of requests that no series counts."""


async def scrape_with_users(setup: ReplaySetup, recorded: Sequence[Event], callback: str, users: int) -> LargeScrape:
    """Feed one event of each of `users` end users to a callback, then scrape it."""
    events = Sampler(recorded, Population(variations=False), SEED).end_users(users)
    async with start_replay(replace(setup, settings=MATRIX["end users"]), callback, events) as replay:
        await replay.execute("feed")
        scrapes = [await replay.execute("scrape") for _ in range(SCRAPES)]
    last = scrapes[-1]
    seconds = sorted(reply["seconds"] for reply in scrapes)
    family, sample = REQUESTS
    series = families(last["scrape"])[family].series
    counted = sum(value for (name, _), value in series.items() if name == sample)
    return LargeScrape(users, last["bytes"] / MIB, seconds[SCRAPES // 2] * MILLI, users - counted)


async def large_scrapes(
    setup: ReplaySetup, recorded: Sequence[Event], ours: str = EVENKEEL
) -> tuple[LargeScrape, LargeScrape]:
    """Return our scrape with all users, and stock's with `STOCK_USERS`: with all of them it would not end."""
    return (
        await scrape_with_users(setup, recorded, ours, USERS),
        await scrape_with_users(setup, recorded, STOCK, STOCK_USERS),
    )
