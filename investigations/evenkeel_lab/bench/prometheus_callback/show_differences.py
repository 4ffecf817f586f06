"""Show which events the two callbacks count differently.

Run `python -m evenkeel_lab.bench.prometheus_callback.show_differences [SETTINGS]`.

Each event, recorded or varied, comes three times: our callback may count the first event of a shape in another way than
the next ones. Each has its own client, so that a series that differs names its event.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differences import undocumented
from evenkeel_lab.bench.prometheus_callback.differential import EVENKEEL, SEED, STOCK, setup_for
from evenkeel_lab.bench.prometheus_callback.events import events_file, read_events
from evenkeel_lab.bench.prometheus_callback.replay_process import RECORDED, ReplaySetup, scrape
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import compare_scrapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event
    from evenkeel_lab.bench.prometheus_callback.scrape import Difference

TIMES: Final = 3
EVENT_NUMBER: Final = r"e(\d{5})e"
NO_EVENT: Final = "no single event"


def by_event(differences: Iterable[Difference], events: Sequence[Event]) -> Mapping[str, Counter[str]]:
    """Return the differences of each kind of event, and how often each occurs."""
    result: dict[str, Counter[str]] = defaultdict(Counter)
    for difference in differences:
        match = re.search(EVENT_NUMBER, difference.series)
        event = events[int(match[1])] if match else None
        kind = f"{event.kind} ({event.hook})" if event else NO_EVENT
        result[kind][f"{difference.kind} {difference.family}" if event else str(difference)] += 1
    return result


async def main(settings: str) -> None:
    """Compare the callbacks in the LiteLLM of this Python, and print the undocumented differences."""
    recorded = read_events(events_file(RECORDED))
    events = Sampler(recorded, Population(), SEED).with_own_client(TIMES)
    setup = setup_for(ReplaySetup(Path(sys.executable), bare=True), recorded, settings)
    stock, ours = await asyncio.gather(*(scrape(setup, arm, events) for arm in (STOCK, EVENKEEL)))
    differences = undocumented(compare_scrapes(stock.text, ours.text), settings=settings)
    for kind, counts in sorted(by_event(differences, events).items()):
        print(kind)  # noqa: T201 - the output of the command
        for difference, number in counts.most_common():
            print(f"    {number:5} {difference}")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else "none"))
