"""The same events through two callbacks, under each of the settings: what their scrapes differ in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.callback.differences import undocumented
from evenkeel_lab.bench.callback.matrix import MATRIX
from evenkeel_lab.bench.callback.running import scraped
from evenkeel_lab.bench.callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.callback.scrape import Difference, compared, families

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.bench.callback.events import Event
    from evenkeel_lab.bench.callback.running import Ground

STOCK, EVENKEEL, NOOP = "stock", "evenkeel", "noop"
SEED: Final = 7


@dataclass(frozen=True)
class Outcome:
    """What two scrapes had to say."""

    settings: str
    events: int
    series: int
    """How many there are in the first scrape: of nothing, nothing differs."""
    differences: Sequence[Difference]
    undocumented: Sequence[Difference]

    def __str__(self) -> str:
        told = f"{self.settings}: {len(self.undocumented)} of {self.series:,} series differ without a reason"
        return "; ".join([told, *map(str, self.undocumented[:3])])


async def differential(
    ground: Ground,
    recorded: Sequence[Event],
    number: int,
    settings: str = "none",
    *,
    arms: tuple[str, str] = (STOCK, EVENKEEL),
) -> Outcome:
    """Feed so many events, drawn from recorded ones, to both callbacks; and compare."""
    first, second = arms
    here = replace(ground, settings={**ground.settings, **MATRIX[settings]})
    events = Sampler(recorded, Crowd(), SEED).draw(number)
    one, other = await asyncio.gather(scraped(here, first, events), scraped(here, second, events))
    found = list(compared(one, other))
    series = sum(len(family.series) for name, family in families(one).items() if name.startswith("litellm_"))
    return Outcome(settings, len(events), series, found, undocumented(found))
