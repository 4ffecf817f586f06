"""Anonymise a recording: pseudonyms for ids, keys, hosts and paths, one fixed day; and name the kind of each event."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import Event, JsonPath, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# In the far future, so that the resets of budgets are still to come when the events are replayed.
START: Final = datetime(2040, 1, 2, 12)  # noqa: DTZ001 - LiteLLM's have no time zone either
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001
SECONDS_OF_NOW: Final = (1.6e9, 2.1e9)
HOST: Final = "provider.test"
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
SECONDS_END: Final = 19

PATTERNS: Final[Sequence[tuple[str, Callable[[int], str]]]] = (
    (r"\b[0-9a-f]{64}\b", lambda number: hashlib.sha256(f"hash-{number}".encode()).hexdigest()),
    (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        lambda number: f"00000000-0000-4000-8000-{number:012}",
    ),
    (r"\b[0-9a-f]{32}\b", lambda number: f"{number:032}"),
    (r"\bsk-[\w.-]{4,}", lambda number: f"sk-hidden-{number}"),
    (r"\bchatcmpl-(?!0000)[\w]{6,}", lambda number: f"chatcmpl-{number}"),
    (r"\b(?:127\.0\.0\.1|localhost):\d+", lambda _: HOST),
    (r"(?<![\w.])/(?:tmp|root|home|work|var|usr)/[^\s\"',)]*", lambda _: "/somewhere"),
)
"""The patterns to replace, and their pseudonyms by number. The same text has the same pseudonym."""


class Pseudonyms:
    """Replaces ids, keys, hosts and paths in texts by pseudonyms."""

    def __init__(self) -> None:
        self._pseudonyms: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}

    def replace(self, text: str) -> str:
        """Return `text` with pseudonyms, so that it can be committed."""
        for pattern, name in PATTERNS:
            text = re.sub(pattern, partial(self._name, pattern, name), text)
        return text

    def _name(self, pattern: str, name: Callable[[int], str], match: re.Match[str]) -> str:
        pseudonym = self._pseudonyms.get((pattern, match[0]))
        if pseudonym is None:
            number = self._numbers[pattern] = self._numbers.get(pattern, 0) + 1
            pseudonym = self._pseudonyms[pattern, match[0]] = name(number)
        return pseudonym


def anonymised(lines: Iterable[str]) -> list[Event]:
    """Return the anonymised events of a recording, from its lines."""
    calls = [json.loads(line) for line in lines]
    starts = [start for call in calls for start in _start_times(call)]
    shift = START - min(starts)
    pseudonyms = Pseudonyms()
    events = []
    for call in calls:
        arguments = _anonymised(call["arguments"], pseudonyms, shift)
        event = Event("", call["hook"], arguments)
        events.append(Event(kind_of(event), event.hook, arguments))
    return events


def kind_of(event: Event) -> str:
    """Return a short name for the kind of an event."""
    if event.hook == "async_log_success_event":
        if event.at(("kwargs", "cache_hit")) is True:
            return "cache hit"
        if "embedding" in str(event.at(("kwargs", "call_type"))):
            return "embedding"
        return "stream" if event.at(("kwargs", "stream")) is True else "chat"
    exception = event.at(("original_exception",)) or event.at(("kwargs", "exception")) or {}
    name = str(exception.get("class", "nothing")).rpartition(".")[2]
    return f"{KINDS[event.hook]} {name}"


KINDS: Final = {
    "async_log_failure_event": "failure",
    "async_post_call_failure_hook": "refusal",
    "log_success_fallback_event": "fallback",
    "log_failure_fallback_event": "fallback in vain",
}


def _start_times(call: Any) -> Iterable[datetime]:
    """Yield the time at which the request of a recorded call began, if it has one."""
    path: JsonPath = ("arguments", "start_time", "at")
    for key in path:
        call = call.get(key) if isinstance(call, dict) else None
    if call:
        yield datetime.fromisoformat(call)


def _anonymised(value: Any, pseudonyms: Pseudonyms, shift: timedelta) -> Any:
    if isinstance(value, dict):
        return {pseudonyms.replace(key): _anonymised(item, pseudonyms, shift) for key, item in value.items()}
    if isinstance(value, list):
        return [_anonymised(item, pseudonyms, shift) for item in value]
    if isinstance(value, str):
        if MOMENT.match(value):
            time = datetime.fromisoformat(value[:SECONDS_END])
            moved = (time + timedelta(seconds=round(shift.total_seconds()))).isoformat(value[10])
            return moved + value[SECONDS_END:]
        return pseudonyms.replace(value)
    if isinstance(value, float) and SECONDS_OF_NOW[0] < value < SECONDS_OF_NOW[1]:
        return value + round(shift.total_seconds())
    return value


def texts(events: Iterable[Event]) -> Iterable[str]:
    """Return all texts of events, to search them for what must not be committed."""
    return (value for event in events for _, value in leaves(event.arguments) if isinstance(value, str))
