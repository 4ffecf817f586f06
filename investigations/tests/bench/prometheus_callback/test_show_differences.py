from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.bench.prometheus_callback.sampling import Population, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind
from evenkeel_lab.bench.prometheus_callback.show_differences import NO_EVENT, by_event
from evenkeel_lab.bench.prometheus_callback.variations import FACTS

if TYPE_CHECKING:
    from evenkeel_lab.bench.prometheus_callback.events import Event


def test_each_event_has_its_own_client(recorded: list[Event]) -> None:
    events = Sampler(recorded, Population(variations=False), 1).with_own_client(2)
    assert len(events) == 2 * len(recorded)
    hashes = [(event.changes or {}).get((*FACTS, "user_api_key_hash")) for event in events]
    known = [hash_ for hash_ in hashes if hash_ is not None]
    assert len(set(known)) == len(known) > len(recorded)


def test_a_difference_is_attributed_to_its_event(recorded: list[Event]) -> None:
    events = Sampler(recorded, Population(variations=False), 1).with_own_client(1)
    counts = by_event(
        [
            Difference(Kind.VALUE, "spend", 'spend{team="crew-e00003e"}'),
            Difference(Kind.VALUE, "spend", 'spend{hashed_api_key="e00003e0123"}'),
            Difference(Kind.VALUE, "failures", "failures{}"),
        ],
        events,
    )
    assert counts[f"{events[3].kind} ({events[3].hook})"] == {"value spend": 2}
    assert list(counts[NO_EVENT].values()) == [1]
