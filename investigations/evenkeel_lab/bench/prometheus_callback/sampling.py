"""Draw thousands of events from some hundred recorded ones, each with its own ids, numbers and times.

A value that an event has more than once is changed everywhere alike, such as the hash of a key.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import leaves
from evenkeel_lab.bench.prometheus_callback.variations import PAYLOAD, SNAPSHOT, SUCCESS, vary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event, JsonPath

IDENTITIES: Final = (
    "user_api_key_hash",
    "user_api_key_alias",
    "user_api_key_team_id",
    "user_api_key_team_alias",
    "user_api_key_user_id",
    "user_api_key_org_id",
)
"""The fields that identify a client. Their values are changed wherever an event has them."""
KEY_FIELDS: Final = {
    "user_api_key_hash": ("token", "api_key"),
    "user_api_key_alias": ("key_alias",),
    "user_api_key_team_id": ("team_id",),
    "user_api_key_team_alias": ("team_alias",),
    "user_api_key_user_id": ("user_id",),
    "user_api_key_org_id": ("org_id",),
}
"""The names of these fields in the client's key, which a rejected request's event has."""
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
"""Marks the ids of clients in varied events, so that odd values change no other client's budgets."""


@dataclass(frozen=True)
class Population:
    """The clients and end users that events are drawn for."""

    clients: int = 12
    """The number of clients made from each recorded one, including itself."""
    end_users: int = 8
    """The same for end users. Our callback keeps only some end users apart, so scrapes are compared with few."""
    variations: bool = True


class Sampler:
    """Draws events from recorded ones."""

    def __init__(self, events: Sequence[Event], population: Population, seed: int) -> None:
        self._population = population
        self._random = random.Random(seed)
        single: list[Sequence[Event]] = [[event] for event in events]
        self._groups = [*single, *(vary(events) if population.variations else ())]
        self._events = [event for group in self._groups for event in group]
        self._identity_paths = {id(event.arguments): _identity_paths(event) for event in events}

    def draw(self, number: int) -> list[Event]:
        """Draw `number` events. Every event comes once before any comes again."""
        drawn: list[Event] = []
        while len(drawn) < number:
            batch = [list(group) for group in self._groups]
            self._random.shuffle(batch)
            for group in batch:
                self._random.shuffle(group)
                # The events of a group have the same client, so that only the variation differs.
                client = self._random.randrange(self._population.clients)
                end_user = self._random.randrange(self._population.end_users)
                drawn += [self._changed(event, client, end_user) for event in group]
        return drawn[:number]

    def with_own_client(self, times: int) -> list[Event]:
        """Return every event `times` times, each with its own client, whose ids have the number of the event."""
        repeated = [event for event in self._events for _ in range(times)]
        return [self._renamed(event, number) for number, event in enumerate(repeated)]

    def end_users(self, number: int) -> list[Event]:
        """Return one success event of each of `number` end users."""
        sources = [event for event in self._events if event.hook == SUCCESS and END_USER in self._paths(event)]
        return [
            sources[each % len(sources)].changed(
                dict.fromkeys(self._paths(sources[each % len(sources)])[END_USER], f"end-user-{each:06}")
            )
            for each in range(number)
        ]

    def _renamed(self, event: Event, number: int) -> Event:
        mark = f"e{number:05}e"
        varied, varied_hash = (f"-{VARIED}", VARIED_HASH) if event.changes else ("", "")
        changes: dict[JsonPath, Any] = {
            path: _own_id(name, str(event.at(path)), f"{varied_hash}{mark}", f"{varied}-{mark}")
            for name, paths in self._paths(event).items()
            for path in paths
        }
        return self._with_free_changes(event, changes)

    def _changed(self, event: Event, client: int, end_user: int) -> Event:
        """Return an event with its own values, except where a variation has set them."""
        changes = {**self._identities(event, client, end_user), **self._numbers(event), **self._times(event)}
        return self._with_free_changes(event, changes)

    @staticmethod
    def _with_free_changes(event: Event, changes: Mapping[JsonPath, Any]) -> Event:
        """Apply the changes that do not overlap with those of the event."""
        earlier = event.changes or {}
        free = {path: new for path, new in changes.items() if not any(_overlap(path, other) for other in earlier)}
        return replace(event, changes={**free, **earlier})

    def _paths(self, event: Event) -> Mapping[str, Sequence[JsonPath]]:
        return self._identity_paths[id(event.arguments)]

    def _identities(self, event: Event, client: int, end_user: int) -> dict[JsonPath, Any]:
        changes: dict[JsonPath, Any] = {}
        for name, paths in self._paths(event).items():
            for path in paths:
                text = str(event.at(path))
                if name == END_USER:
                    changes[path] = f"{text}-{end_user}"
                elif event.changes:
                    changes[path] = _own_id(name, text, f"{VARIED_HASH}{client:02x}", f"-{VARIED}-{client}")
                elif client:
                    changes[path] = _own_id(name, text, f"{client:04x}", f"-{client}")
        return changes

    def _numbers(self, event: Event) -> dict[JsonPath, Any]:
        factor = self._random.lognormvariate(0, SPREAD)
        changes: dict[JsonPath, Any] = {}
        for path in (*COSTS, *SPENDS):
            value = event.at(path)
            if isinstance(value, float) and value:
                changes[path] = value * factor
        tokens = [event.at(path) for path in TOKENS]
        if all(isinstance(value, int) and not isinstance(value, bool) for value in tokens):
            prompt, completion = (max(1, round(value * factor)) if value else 0 for value in tokens[:2])
            changes |= dict(zip(TOKENS, (prompt, completion, prompt + completion), strict=True))
        return changes

    def _times(self, event: Event) -> dict[JsonPath, Any]:
        """Return the times of an event, with all durations since its start multiplied by a random factor."""
        factor = self._random.lognormvariate(0, SPREAD)
        start = event.at((*TIMES[0], "at"))
        if start is None:
            return {}
        first = datetime.fromisoformat(start)
        recorded = {path: event.at((*path, "at")) for path in TIMES}
        return {
            path: {"$": "datetime", "at": (first + (datetime.fromisoformat(at) - first) * factor).isoformat()}
            for path, at in recorded.items()
            if at is not None and path[-1] != "start_time"
        }


def _identity_paths(event: Event) -> Mapping[str, Sequence[JsonPath]]:
    """Return for each field of `IDENTITIES`, and for the end user, all paths at which an event has its value."""
    fields: dict[Any, str] = {}
    scalars = list(leaves(event.arguments))
    for path, value in scalars:
        if not isinstance(value, str) or not value or "$" in path:
            continue
        name = str(path[-1])
        if name in (*IDENTITIES, END_USER):
            fields.setdefault(value, name)
        elif path[:2] == ("user_api_key_dict", "fields"):
            field = next((identity for identity, names in KEY_FIELDS.items() if name in names), None)
            if field:
                fields.setdefault(value, field)
    paths: dict[str, list[JsonPath]] = defaultdict(list)
    for path, value in scalars:
        if isinstance(value, str) and value in fields and path[-1] != "$":
            paths[fields[value]].append(path)
    return paths


def _own_id(name: str, text: str, start: str, end: str) -> str:
    """Return another id: `text` with `end`, or with `start` if it is a hash, which keeps its length."""
    return f"{start}{text[len(start) :]}" if name == "user_api_key_hash" else f"{text}{end}"


def _overlap(path: JsonPath, other: JsonPath) -> bool:
    """Whether one path is a part of the other."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]
