"""Show which events are counted differently.

Run `python -m evenkeel_lab.bench.prometheus_callback.show_differences [SETTINGS]`.

Each event there is, recorded or varied, comes three times: the first of a shape may be counted in another way than
those that follow. Each has a caller of its own, so that a series that differs names its event.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differences import undocumented
from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED, STOCK, under
from evenkeel_lab.bench.prometheus_callback.environments import RECORDED
from evenkeel_lab.bench.prometheus_callback.events import place_of, read_events
from evenkeel_lab.bench.prometheus_callback.running import Ground, scraped
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import compared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.scrape import Difference

TIMES: Final = 3
MARK: Final = r"e(\d{5})e"
UNNAMED: Final = "no event in particular"


def by_event(found: Iterable[Difference], events: Sequence[Event]) -> Mapping[str, Counter[str]]:
    """Return for each kind of event what differs in its series, and how often."""
    told: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        named = re.search(MARK, one.series)
        event = events[int(named[1])] if named else None
        kind = f"{event.kind} ({event.hook})" if event else UNNAMED
        told[kind][f"{one.kind} {one.family}" if event else str(one)] += 1
    return told


async def main(settings: str) -> None:
    """Find them, in this very environment."""
    recorded = read_events(place_of(RECORDED))
    events = Sampler(recorded, Crowd(), SEED).apart(TIMES)
    ground = under(Ground(Path(sys.executable), bare=True), recorded, settings)
    one, other = await asyncio.gather(scraped(ground, STOCK, events), scraped(ground, EVENKEEL, events))
    found = undocumented(compared(one.text, other.text), settings=settings)
    for kind, differences in sorted(by_event(found, events).items()):
        print(kind)  # noqa: T201 - for who has asked
        for difference, number in differences.most_common():
            print(f"    {number:5} {difference}")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else "none"))
