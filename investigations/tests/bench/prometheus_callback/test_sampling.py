from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel_lab.bench.prometheus_callback.sampling import END_USER, Crowd, Sampler
from evenkeel_lab.bench.prometheus_callback.variations import FACTS, PAYLOAD, SUCCESS, VARIATIONS, varied

if TYPE_CHECKING:
    from evenkeel_lab.bench.prometheus_callback.events import Event

HASH = (*FACTS, "user_api_key_hash")


def test_the_same_seed_draws_the_same(recorded: list[Event]) -> None:
    draws = [Sampler(recorded, Crowd(), seed).draw(400) for seed in (3, 3, 4)]
    assert draws[0] == draws[1] != draws[2]


def test_all_there_are_come_before_any_comes_again(recorded: list[Event]) -> None:
    plain = Crowd(variations=False)
    drawn = Counter(id(event.arguments) for event in Sampler(recorded, plain, 1).draw(2 * len(recorded)))
    assert set(drawn.values()) == {2}
    kinds = {
        event.kind for event in Sampler(recorded, Crowd(), 1).draw(len(recorded) + sum(map(len, varied(recorded))))
    }
    assert all(any(kind.endswith(variation.name) for kind in kinds) for variation in VARIATIONS)


def test_a_caller_is_another_wherever_an_event_names_it(recorded: list[Event]) -> None:
    drawn = Sampler(recorded, Crowd(variations=False), 1).draw(300)
    for event in drawn:
        was = event.at(HASH)
        if was is None or HASH not in (event.changes or {}):
            continue
        places = [place for place in (event.changes or {}) if event.at(place) == was]
        assert len(places) > 1
        assert len({event.changes[place] for place in places}) == 1  # type: ignore[index]


def test_sums_of_tokens_go_on_being_sums(recorded: list[Event]) -> None:
    for event in Sampler(recorded, Crowd(variations=False), 1).draw(200):
        changes = event.changes or {}
        parts = [changes.get((*PAYLOAD, name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
        if event.hook == SUCCESS and all(isinstance(part, int) for part in parts):
            assert parts[0] + parts[1] == parts[2]


def test_answers_end_after_they_began(recorded: list[Event]) -> None:
    order = [("kwargs", "api_call_start_time"), ("kwargs", "end_time")]
    for event in Sampler([one for one in recorded if one.hook == SUCCESS], Crowd(variations=False), 1).draw(100):
        times = [(event.changes or {}).get(place, event.at(place)) for place in order]
        # What comes from a cache was asked of nobody.
        assert all(one["at"] <= other["at"] for one, other in pairwise(times) if one is not None)


def test_each_end_user_is_one(recorded: list[Event]) -> None:
    events = Sampler(recorded, Crowd(variations=False), 1).end_users(1_000)
    named = {to for event in events for place, to in (event.changes or {}).items() if place[-1] == END_USER}
    assert len(named) == 1_000


def test_variations_have_names_of_their_own() -> None:
    names = Counter((variation.name, variation.hook) for variation in VARIATIONS)
    assert set(names.values()) == {1}


def test_what_is_told_apart_from_each_other_comes_together_and_of_one_caller(recorded: list[Event]) -> None:
    drawn = Sampler(recorded, Crowd(), 1).draw(2_000)
    names = [one.kind.rpartition(", ")[2] for one in drawn]
    together = {one.name for one in VARIATIONS if one.beside == "a prompt"}
    first = next(number for number, name in enumerate(names) if name in together)
    several = drawn[first : first + len(together)]
    assert {one.kind.rpartition(", ")[2] for one in several} == together
    assert len({id(one.arguments) for one in several}) == 1
    hashes = [value for one in several for place, value in (one.changes or {}).items() if "user_api_key_hash" in place]
    assert len(set(hashes)) == 1
