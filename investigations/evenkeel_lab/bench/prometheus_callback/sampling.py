"""Thousands of events out of some hundred: drawn with a seed, each with ids, numbers and times of its own.

What an event says more than once, it goes on saying alike: a key's hash is changed wherever it stands.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import leaves
from evenkeel_lab.bench.prometheus_callback.variations import PAYLOAD, SNAPSHOT, SUCCESS, varied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event, Path_

IDENTITIES: Final = (
    "user_api_key_hash",
    "user_api_key_alias",
    "user_api_key_team_id",
    "user_api_key_team_alias",
    "user_api_key_user_id",
    "user_api_key_org_id",
)
"""What makes one caller another; sought in an event's facts, changed wherever it stands."""
ONESELF: Final = {
    "user_api_key_hash": ("token", "api_key"),
    "user_api_key_alias": ("key_alias",),
    "user_api_key_team_id": ("team_id",),
    "user_api_key_team_alias": ("team_alias",),
    "user_api_key_user_id": ("user_id",),
    "user_api_key_org_id": ("org_id",),
}
"""The same, as a refused caller's key has it."""
END_USER: Final = "user_api_key_end_user_id"
TIMES: Final = (
    ("kwargs", "start_time"),
    ("kwargs", "api_call_start_time"),
    ("kwargs", "completion_start_time"),
    ("kwargs", "end_time"),
    ("start_time",),
    ("end_time",),
)
COSTS: Final = ((*PAYLOAD, "response_cost"),)
TOKENS: Final = tuple((*PAYLOAD, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
SPENDS: Final = tuple((*SNAPSHOT, f"user_api_key_{name}spend") for name in ("", "team_", "user_", "org_"))
SPREAD: Final = 0.8
VARIED: Final = "varied"
VARIED_HASH: Final = "fadedfaded"
"""What is in the names of those of whom only odd things are told, so that nobody else's budgets become odd."""


@dataclass(frozen=True)
class Crowd:
    """How many there are to draw from."""

    callers: int = 12
    """Into so many each recorded caller is made; one of them is the recorded one."""
    end_users: int = 8
    """Likewise. Few, where scrapes are compared: of many, ours keeps only some apart."""
    variations: bool = True


class Sampler:
    """Draws events from recorded ones."""

    def __init__(self, events: Sequence[Event], crowd: Crowd, seed: int) -> None:
        self._crowd = crowd
        self._random = random.Random(seed)
        alone: list[Sequence[Event]] = [[event] for event in events]
        self._together = [*alone, *(varied(events) if crowd.variations else ())]
        self._events = [event for several in self._together for event in several]
        self._places = {id(event.arguments): _places(event) for event in events}

    def draw(self, number: int) -> list[Event]:
        """Return so many: each there is once before any comes again."""
        found: list[Event] = []
        while len(found) < number:
            batch = [list(several) for several in self._together]
            self._random.shuffle(batch)
            for several in batch:
                self._random.shuffle(several)
                # What is told apart from each other is told of the same caller.
                caller, end_user = self._somebody()
                found += [self._another(event, caller, end_user) for event in several]
        return found[:number]

    def apart(self, times: int) -> list[Event]:
        """Return all there are, so many times each, and each of a caller of its own: whose number is in its series."""
        return [
            self._renamed(event, number)
            for number, event in enumerate(one for one in self._events for _ in range(times))
        ]

    def end_users(self, number: int) -> list[Event]:
        """Return a successful event of each of so many end users."""
        sources = [event for event in self._events if event.hook == SUCCESS and END_USER in self._of(event)]
        return [
            sources[each % len(sources)].changed(
                dict.fromkeys(self._of(sources[each % len(sources)])[END_USER], f"end-user-{each:06}")
            )
            for each in range(number)
        ]

    def _renamed(self, event: Event, number: int) -> Event:
        mark = f"e{number:05}e"
        odd, odd_hash = (f"-{VARIED}", VARIED_HASH) if event.changes else ("", "")
        changes: dict[Path_, Any] = {
            place: _of_its_own(name, str(event.at(place)), f"{odd_hash}{mark}", f"{odd}-{mark}")
            for name, places in self._of(event).items()
            for place in places
        }
        return self._freely(event, changes)

    def _somebody(self) -> tuple[int, int]:
        return self._random.randrange(self._crowd.callers), self._random.randrange(self._crowd.end_users)

    def _another(self, event: Event, caller: int, end_user: int) -> Event:
        """Return an event with values of its own, where it has not been varied already."""
        changes = {**self._identities(event, caller, end_user), **self._numbers(event), **self._times(event)}
        return self._freely(event, changes)

    @staticmethod
    def _freely(event: Event, changes: Mapping[Path_, Any]) -> Event:
        varied_already = event.changes or {}
        free = {place: to for place, to in changes.items() if not any(_within(place, one) for one in varied_already)}
        return replace(event, changes={**free, **varied_already})

    def _of(self, event: Event) -> Mapping[str, Sequence[Path_]]:
        return self._places[id(event.arguments)]

    def _identities(self, event: Event, caller: int, end_user: int) -> dict[Path_, Any]:
        found: dict[Path_, Any] = {}
        for name, places in self._of(event).items():
            for place in places:
                text = str(event.at(place))
                if name == END_USER:
                    found[place] = f"{text}-{end_user}"
                elif event.changes:
                    found[place] = _of_its_own(name, text, f"{VARIED_HASH}{caller:02x}", f"-{VARIED}-{caller}")
                elif caller:
                    found[place] = _of_its_own(name, text, f"{caller:04x}", f"-{caller}")
        return found

    def _numbers(self, event: Event) -> dict[Path_, Any]:
        times = self._random.lognormvariate(0, SPREAD)
        found: dict[Path_, Any] = {}
        for place in (*COSTS, *SPENDS):
            value = event.at(place)
            if isinstance(value, float) and value:
                found[place] = value * times
        tokens = [event.at(place) for place in TOKENS]
        if all(isinstance(value, int) and not isinstance(value, bool) for value in tokens):
            prompt, completion = (max(1, round(value * times)) if value else 0 for value in tokens[:2])
            found |= dict(zip(TOKENS, (prompt, completion, prompt + completion), strict=True))
        return found

    def _times(self, event: Event) -> dict[Path_, Any]:
        """Return each time as far from the beginning as it was, times what is drawn."""
        times = self._random.lognormvariate(0, SPREAD)
        began = event.at((*TIMES[0], "at"))
        if began is None:
            return {}
        first = datetime.fromisoformat(began)
        known = {place: event.at((*place, "at")) for place in TIMES}
        return {
            place: {"$": "datetime", "at": (first + (datetime.fromisoformat(at) - first) * times).isoformat()}
            for place, at in known.items()
            if at is not None and place[-1] != "start_time"
        }


def _places(event: Event) -> Mapping[str, Sequence[Path_]]:
    """Return where an event says who has asked."""
    facts: dict[Any, str] = {}
    scalars = list(leaves(event.arguments))
    for place, value in scalars:
        if not isinstance(value, str) or not value or "$" in place:
            continue
        name = str(place[-1])
        if name in (*IDENTITIES, END_USER):
            facts.setdefault(value, name)
        elif place[:2] == ("user_api_key_dict", "fields"):
            own = next((one for one, names in ONESELF.items() if name in names), None)
            if own:
                facts.setdefault(value, own)
    found: dict[str, list[Path_]] = defaultdict(list)
    for place, value in scalars:
        if isinstance(value, str) and value in facts and place[-1] != "$":
            found[facts[value]].append(place)
    return found


def _of_its_own(name: str, text: str, beginning: str, end: str) -> str:
    """Return another name; a hash goes on looking like one."""
    return f"{beginning}{text[len(beginning) :]}" if name == "user_api_key_hash" else f"{text}{end}"


def _within(place: Path_, other: Path_) -> bool:
    """Whether one place is in another, or the other in it."""
    shorter = min(len(place), len(other))
    return place[:shorter] == other[:shorter]
