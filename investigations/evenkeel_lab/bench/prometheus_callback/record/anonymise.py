"""Tidying what was recorded: names instead of ids, one host, one day, nothing of the machine, and each event's kind."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import Event, Path_, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Far off: budgets are still to be reset when the events are replayed.
DAY: Final = datetime(2040, 1, 2, 12)  # noqa: DTZ001 - as LiteLLM has them
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001
SECONDS_OF_NOW: Final = (1.6e9, 2.1e9)
HOST: Final = "provider.test"
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
SECONDS_END: Final = 19

RULES: Final[Sequence[tuple[str, Callable[[int], str]]]] = (
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
"""What gives way to what, the same for the same text; numbered in the order of its coming."""


class Names:
    """Gives texts their tidy names."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}

    def tidy(self, text: str) -> str:
        """Return a text as it may be committed."""
        for pattern, name in RULES:
            text = re.sub(pattern, partial(self._name, pattern, name), text)
        return text

    def _name(self, pattern: str, name: Callable[[int], str], found: re.Match[str]) -> str:
        known = self._known.get((pattern, found[0]))
        if known is None:
            number = self._numbers[pattern] = self._numbers.get(pattern, 0) + 1
            known = self._known[pattern, found[0]] = name(number)
        return known


def tidied(lines: Iterable[str]) -> list[Event]:
    """Return the events of a recording."""
    told = [json.loads(line) for line in lines]
    starts = [moment for line in told for moment in _moments(line)]
    shift = DAY - min(starts)
    names = Names()
    found = []
    for line in told:
        arguments = _walked(line["arguments"], names, shift)
        event = Event("", line["hook"], arguments)
        found.append(Event(kind_of(event), event.hook, arguments))
    return found


def kind_of(event: Event) -> str:
    """Say in a word or two what an event is about."""
    if event.hook == "async_log_success_event":
        if event.at(("kwargs", "cache_hit")) is True:
            return "cache hit"
        if "embedding" in str(event.at(("kwargs", "call_type"))):
            return "embedding"
        return "stream" if event.at(("kwargs", "stream")) is True else "chat"
    exception = event.at(("original_exception",)) or event.at(("kwargs", "exception")) or {}
    name = str(exception.get("class", "nothing")).rpartition(".")[2]
    return f"{WORDS[event.hook]} {name}"


WORDS: Final = {
    "async_log_failure_event": "failure",
    "async_post_call_failure_hook": "refusal",
    "log_success_fallback_event": "fallback",
    "log_failure_fallback_event": "fallback in vain",
}


def _moments(line: Any) -> Iterable[datetime]:
    """Return when the request of a recorded call began."""
    place: Path_ = ("arguments", "start_time", "at")
    for step in place:
        line = line.get(step) if isinstance(line, dict) else None
    if line:
        yield datetime.fromisoformat(line)


def _walked(value: Any, names: Names, shift: timedelta) -> Any:
    if isinstance(value, dict):
        return {names.tidy(key): _walked(one, names, shift) for key, one in value.items()}
    if isinstance(value, list):
        return [_walked(one, names, shift) for one in value]
    if isinstance(value, str):
        if MOMENT.match(value):
            began = datetime.fromisoformat(value[:SECONDS_END])
            moved = (began + timedelta(seconds=round(shift.total_seconds()))).isoformat(value[10])
            return moved + value[SECONDS_END:]
        return names.tidy(value)
    if isinstance(value, float) and SECONDS_OF_NOW[0] < value < SECONDS_OF_NOW[1]:
        return value + round(shift.total_seconds())
    return value


def texts(events: Iterable[Event]) -> Iterable[str]:
    """Return all texts of events: for those who look for what must not be in them."""
    return (value for event in events for _, value in leaves(event.arguments) if isinstance(value, str))
