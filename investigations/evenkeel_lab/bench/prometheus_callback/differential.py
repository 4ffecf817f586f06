"""Feed the same events to two callbacks under given settings, and list the differences of their scrapes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel_lab.bench.prometheus_callback.differences import undocumented
from evenkeel_lab.bench.prometheus_callback.events import Event
from evenkeel_lab.bench.prometheus_callback.replay_process import scrape
from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind, compare_scrapes, families
from evenkeel_lab.bench.prometheus_callback.settings_matrix import CIRCUMSTANCES, MATRIX, Circumstances
from evenkeel_lab.bench.prometheus_callback.variations import MODEL_GROUPS, PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel_lab.bench.prometheus_callback.replay_process import ReplaySetup, Scrape

STOCK, EVENKEEL, NOOP = "stock", "evenkeel", "noop"
TIME: Final = "pass_time"
"""The kind and the hook of an event that moves the clock instead of calling the callback."""
MODEL_GROUP_PATHS: Final = ((*PAYLOAD, "model_group"), ("request_data", "model"))
LIMIT: Final = 1_000
EVENTS: Final = "evenkeel_metrics_events"
SEED: Final = 7


@dataclass(frozen=True)
class Comparison:
    """The differences of two callbacks' scrapes under the same settings."""

    settings: str
    events: int
    series: int
    """The number of LiteLLM's series in the first scrape. If it is 0, nothing was compared."""
    differences: Sequence[Difference]
    undocumented: Sequence[Difference]

    def __str__(self) -> str:
        summary = f"{self.settings}: {len(self.undocumented)} undocumented differences in {self.series:,} series"
        return "; ".join([summary, *map(str, self.undocumented[:3])])


async def compare_callbacks(
    setup: ReplaySetup,
    recorded: Sequence[Event],
    number: int,
    settings: str = "none",
    *,
    arms: tuple[str, str] = (STOCK, EVENKEEL),
) -> Comparison:
    """Draw `number` events from recorded ones, feed them to both callbacks, and compare their scrapes."""
    with_settings = setup_for(setup, recorded, settings)
    events = with_time_passing(Sampler(recorded, population(settings), SEED).draw(number), settings)
    first, second = await asyncio.gather(*(scrape(with_settings, arm, events) for arm in arms))
    differences = list(_differences(first, second))
    series = sum(line.startswith("litellm_") for line in first.text.splitlines())
    return Comparison(settings, len(events), series, differences, undocumented(differences, settings=settings))


def setup_for(setup: ReplaySetup, recorded: Sequence[Event], settings: str) -> ReplaySetup:
    """Return `setup` with settings of `MATRIX`, and with a router that has the model groups of the events."""
    circumstances = CIRCUMSTANCES.get(settings, Circumstances())
    groups = {str(event.at(path)) for event in recorded for path in MODEL_GROUP_PATHS if event.at(path)}
    return replace(
        setup,
        settings={**setup.settings, **MATRIX[settings]},
        several_workers=circumstances.several_workers,
        models=dict.fromkeys(sorted(groups | set(MODEL_GROUPS)), LIMIT if circumstances.router_limits else None),
    )


def population(settings: str) -> Population:
    """Return how many clients and end users the events have under some settings."""
    return Population(end_users=CIRCUMSTANCES.get(settings, Circumstances()).end_users)


def with_time_passing(events: Sequence[Event], settings: str) -> list[Event]:
    """Return the events, with a step of the clock after half of them if the settings have one."""
    seconds, half = CIRCUMSTANCES.get(settings, Circumstances()).seconds_pass, len(events) // 2
    time = [Event(TIME, TIME, {"seconds": seconds})] if seconds else []
    return [*events[:half], *time, *events[half:]]


def _rejected_plans(ours: Scrape) -> Iterator[Difference]:
    """Yield a difference for update plans that were wrong: LiteLLM's own, slower code counted those events."""
    lines = "".join(f"{line}\n" for line in ours.text.splitlines() if EVENTS in line)
    family = families(lines).get(EVENTS)
    for series, value in () if family is None else family.series.items():
        if ("outcome", "plan_rejected") in series[1] and series[0].endswith("_total"):
            yield Difference(Kind.PLAN_REJECTED, EVENTS, "", "", str(value))


def _differences(first: Scrape, second: Scrape) -> Iterator[Difference]:
    if not first.critical and not second.critical:
        yield from compare_scrapes(first.text, second.text)
        yield from _rejected_plans(second)
    # Our message contains stock's, and says more.
    elif not first.critical or not all(any(text in ours for ours in second.critical) for text in first.critical):
        yield Difference(Kind.CRITICAL, "", "", "; ".join(first.critical), "; ".join(second.critical))
