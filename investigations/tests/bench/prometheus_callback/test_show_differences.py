from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.bench.prometheus_callback.sampling import Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.scrape import Difference, Kind
from evenkeel_lab.bench.prometheus_callback.show_differences import UNNAMED, by_event
from evenkeel_lab.bench.prometheus_callback.variations import FACTS

if TYPE_CHECKING:
    from evenkeel_lab.bench.prometheus_callback.events import Event


def test_each_event_has_a_caller_of_its_own(recorded: list[Event]) -> None:
    events = Sampler(recorded, Crowd(variations=False), 1).apart(2)
    assert len(events) == 2 * len(recorded)
    hashes = [(event.changes or {}).get((*FACTS, "user_api_key_hash")) for event in events]
    known = [one for one in hashes if one is not None]
    assert len(set(known)) == len(known) > len(recorded)


def test_a_difference_is_its_event_s(recorded: list[Event]) -> None:
    events = Sampler(recorded, Crowd(variations=False), 1).apart(1)
    found = by_event(
        [
            Difference(Kind.VALUE, "spend", 'spend{team="crew-e00003e"}'),
            Difference(Kind.VALUE, "spend", 'spend{hashed_api_key="e00003e0123"}'),
            Difference(Kind.VALUE, "failures", "failures{}"),
        ],
        events,
    )
    assert found[f"{events[3].kind} ({events[3].hook})"] == {"value spend": 2}
    assert list(found[UNNAMED].values()) == [1]
