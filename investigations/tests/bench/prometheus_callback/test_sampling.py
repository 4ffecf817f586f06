from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.bench.prometheus_callback.sampling import END_USER, Population, Sampler
from evenkeel_lab.bench.prometheus_callback.variations import FACTS, PAYLOAD, SUCCESS, VARIATIONS, vary

if TYPE_CHECKING:
    from evenkeel_lab.bench.prometheus_callback.events import Event

HASH = (*FACTS, "user_api_key_hash")


def test_the_same_seed_draws_the_same_events(recorded: list[Event]) -> None:
    draws = [Sampler(recorded, Population(), seed).draw(400) for seed in (3, 3, 4)]
    assert draws[0] == draws[1] != draws[2]


def test_every_event_is_drawn_once_before_any_is_drawn_again(recorded: list[Event]) -> None:
    plain = Population(variations=False)
    drawn = Counter(id(event.arguments) for event in Sampler(recorded, plain, 1).draw(2 * len(recorded)))
    assert set(drawn.values()) == {2}
    kinds = {
        event.kind for event in Sampler(recorded, Population(), 1).draw(len(recorded) + sum(map(len, vary(recorded))))
    }
    assert all(any(kind.endswith(variation.name) for kind in kinds) for variation in VARIATIONS)


def test_the_id_of_a_client_is_changed_everywhere_in_an_event(recorded: list[Event]) -> None:
    drawn = Sampler(recorded, Population(variations=False), 1).draw(300)
    for event in drawn:
        was = event.at(HASH)
        if was is None or HASH not in (event.changes or {}):
            continue
        paths = [path for path in (event.changes or {}) if event.at(path) == was]
        assert len(paths) > 1
        assert len({event.changes[path] for path in paths}) == 1  # type: ignore[index]


def test_the_total_of_tokens_remains_their_sum(recorded: list[Event]) -> None:
    for event in Sampler(recorded, Population(variations=False), 1).draw(200):
        changes = event.changes or {}
        parts = [changes.get((*PAYLOAD, name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
        if event.hook == SUCCESS and all(isinstance(part, int) for part in parts):
            assert parts[0] + parts[1] == parts[2]


def test_responses_end_after_they_began(recorded: list[Event]) -> None:
    order = [("kwargs", "api_call_start_time"), ("kwargs", "end_time")]
    successes = [event for event in recorded if event.hook == SUCCESS]
    for event in Sampler(successes, Population(variations=False), 1).draw(100):
        times = [(event.changes or {}).get(path, event.at(path)) for path in order]
        # A response from the cache has no start of an API call.
        assert all(start["at"] <= end["at"] for start, end in pairwise(times) if start is not None)


def test_each_event_has_its_own_end_user(recorded: list[Event]) -> None:
    events = Sampler(recorded, Population(variations=False), 1).end_users(1_000)
    named = {to for event in events for path, to in (event.changes or {}).items() if path[-1] == END_USER}
    assert len(named) == 1_000


def test_variations_have_unique_names() -> None:
    names = Counter((variation.name, variation.hook) for variation in VARIATIONS)
    assert set(names.values()) == {1}


def test_the_variations_of_a_group_come_together_for_one_client(recorded: list[Event]) -> None:
    drawn = Sampler(recorded, Population(), 1).draw(2_000)
    names = [event.kind.rpartition(", ")[2] for event in drawn]
    group_names = {variation.name for variation in VARIATIONS if variation.group == "a prompt"}
    first = next(number for number, name in enumerate(names) if name in group_names)
    drawn_group = drawn[first : first + len(group_names)]
    assert {event.kind.rpartition(", ")[2] for event in drawn_group} == group_names
    assert len({id(event.arguments) for event in drawn_group}) == 1
    hashes = [
        value for event in drawn_group for path, value in (event.changes or {}).items() if "user_api_key_hash" in path
    ]
    assert len(set(hashes)) == 1
