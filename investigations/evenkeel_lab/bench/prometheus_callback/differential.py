"""The same events through two callbacks, under each of the settings: what their scrapes differ in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differences import undocumented
from evenkeel_lab.bench.prometheus_callback.events import Event
from evenkeel_lab.bench.prometheus_callback.running import scraped
from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind, compared, families
from evenkeel_lab.bench.prometheus_callback.settings_matrix import CIRCUMSTANCES, MATRIX, Circumstances
from evenkeel_lab.bench.prometheus_callback.variations import MODEL_GROUPS, PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel_lab.bench.prometheus_callback.running import Ground, Scraped

STOCK, EVENKEEL, NOOP = "stock", "evenkeel", "noop"
TIME: Final = "pass_time"
"""What an event is called that is none: that time passes."""
GROUPS: Final = ((*PAYLOAD, "model_group"), ("request_data", "model"))
LIMIT: Final = 1_000
EVENTS: Final = "evenkeel_metrics_events"
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
    here = under(ground, recorded, settings)
    events = with_time(Sampler(recorded, crowd(settings), SEED).draw(number), settings)
    one, other = await asyncio.gather(scraped(here, first, events), scraped(here, second, events))
    found = list(_differences(one, other))
    series = sum(line.startswith("litellm_") for line in one.text.splitlines())
    return Outcome(settings, len(events), series, found, undocumented(found, settings=settings))


def under(ground: Ground, recorded: Sequence[Event], settings: str) -> Ground:
    """Return where events are replayed under some settings, with a router that knows the models of the events."""
    circumstances = CIRCUMSTANCES.get(settings, Circumstances())
    groups = {str(event.at(place)) for event in recorded for place in GROUPS if event.at(place)}
    return replace(
        ground,
        settings={**ground.settings, **MATRIX[settings]},
        several_workers=circumstances.several_workers,
        models=dict.fromkeys(sorted(groups | set(MODEL_GROUPS)), LIMIT if circumstances.router_limits else None),
    )


def crowd(settings: str) -> Crowd:
    """Return of whom events are told under some settings."""
    return Crowd(end_users=CIRCUMSTANCES.get(settings, Circumstances()).end_users)


def with_time(events: Sequence[Event], settings: str) -> list[Event]:
    """Return events with the time that passes when half of them have come, if any does."""
    seconds, half = CIRCUMSTANCES.get(settings, Circumstances()).seconds_pass, len(events) // 2
    time = [Event(TIME, TIME, {"seconds": seconds})] if seconds else []
    return [*events[:half], *time, *events[half:]]


def _given_up(scrape: Scraped) -> Iterator[Difference]:
    """Go through the plans of ours that were wrong: LiteLLM's own code has counted in their place, at its own price."""
    told = families("".join(f"{line}\n" for line in scrape.text.splitlines() if EVENTS in line)).get(EVENTS)
    for series, value in () if told is None else told.series.items():
        if ("outcome", "plan_rejected") in series[1] and series[0].endswith("_total"):
            yield Difference(Kind.GIVEN_UP, EVENTS, "", "", str(value))


def _differences(one: Scraped, other: Scraped) -> Iterator[Difference]:
    if not one.refusals and not other.refusals:
        yield from compared(one.text, other.text)
        yield from _given_up(other)
    # Ours says more than that.
    elif not one.refusals or not all(any(words in told for told in other.refusals) for words in one.refusals):
        yield Difference(Kind.REFUSAL, "", "", "; ".join(one.refusals), "; ".join(other.refusals))
