"""Recorded events: what LiteLLM once told a callback, in JSON, and where the committed ones are.

Times, exceptions, callers' keys and numbers that are none are mappings with a tag (`"$"`), see `record/recorder.py`;
`replay.py` makes them what they were, in a process that has LiteLLM.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.errors import WrongUse

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT: Final = 1
EVENTS: Final = Path(__file__).with_name("events")
ABSENT: Final[Mapping[str, str]] = {"$": "absent"}
"""In the place of a value: it is taken away."""

Path_ = tuple[str | int, ...]
"""Where a value is: keys of mappings, numbers of items."""


@dataclass(frozen=True)
class Event:
    """One call of a callback."""

    kind: str
    """What it is about, in a word or two: `chat`, `stream`, `failure RateLimitError`."""
    hook: str
    """The method that was called."""
    arguments: Mapping[str, Any]
    changes: Mapping[Path_, Any] | None = None
    """What differs from the arguments, place by place: so that thousands of events share most of what they hold."""

    def at(self, place: Path_) -> Any:
        """Return what is recorded at a place; None if there is no such place."""
        found: Any = self.arguments
        for step in place:
            if isinstance(found, Mapping):
                found = found.get(step)
            elif isinstance(found, list) and isinstance(step, int) and step < len(found):
                found = found[step]
            else:
                return None
        return found

    def changed(self, changes: Mapping[Path_, Any], kind: str | None = None) -> Event:
        """Return it with other values at some places."""
        return replace(self, kind=kind or self.kind, changes={**(self.changes or {}), **changes})


def leaves(value: Any, place: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Go through all scalars of a value, and where each is."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from leaves(one, (*place, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from leaves(one, (*place, number))
    else:
        yield place, value


def place_of(version: str) -> Path:
    """Return where the events of a LiteLLM version are kept."""
    return EVENTS / f"{version}.json.gz"


def write_events(events: Sequence[Event], place: Path) -> None:
    """Write events; the same events are the same bytes."""
    lines = [{"kind": one.kind, "hook": one.hook, "arguments": one.arguments} for one in events]
    text = json.dumps({"format": FORMAT, "events": lines}, separators=(",", ":"), sort_keys=True)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def read_events(place: Path) -> list[Event]:
    """Read events."""
    told = json.loads(gzip.decompress(place.read_bytes()))
    if told["format"] != FORMAT:
        raise WrongUse(
            f"{place.name} has format {told['format']}, this is for {FORMAT}.",
            hint="python -m evenkeel_lab.bench.prometheus_callback.record",
        )
    return [Event(one["kind"], one["hook"], one["arguments"]) for one in told["events"]]


def packed(events: Sequence[Event]) -> str:
    """Return events as `replay.py` reads them: what they share is written once."""
    bases: dict[int, int] = {}
    shared: list[Mapping[str, Any]] = []
    lines = []
    for event in events:
        number = bases.setdefault(id(event.arguments), len(bases))
        if number == len(shared):
            shared.append(event.arguments)
        changes = [[list(place), value] for place, value in (event.changes or {}).items()]
        lines.append({"hook": event.hook, "base": number, "changes": changes})
    return json.dumps({"bases": shared, "events": lines})
