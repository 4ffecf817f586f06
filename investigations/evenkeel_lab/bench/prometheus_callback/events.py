"""Recorded events: the arguments with which LiteLLM called a callback, as JSON, and the files that hold them.

Times, exceptions, clients' keys and numbers that JSON cannot express are mappings with a tag (`"$"`), which
`record/recorder.py` writes. `replay.py` rebuilds the original values, in a process that has LiteLLM.
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
"""Instead of a value in a change: the value is removed."""

JsonPath = tuple[str | int, ...]
"""The way to a value in JSON: keys of mappings and indexes of lists."""


@dataclass(frozen=True)
class Event:
    """One call of a callback."""

    kind: str
    """A short name for the kind of event, such as `chat`, `stream` or `failure RateLimitError`."""
    hook: str
    """The method of the callback that was called."""
    arguments: Mapping[str, Any]
    changes: Mapping[JsonPath, Any] | None = None
    """The values that differ from `arguments`, which thousands of events share."""

    def at(self, path: JsonPath) -> Any:
        """Return the recorded value at `path`, or `None` if the path does not exist."""
        value: Any = self.arguments
        for key in path:
            if isinstance(value, Mapping):
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                return None
        return value

    def changed(self, changes: Mapping[JsonPath, Any], kind: str | None = None) -> Event:
        """Return the event with other values at the paths in `changes`."""
        return replace(self, kind=kind or self.kind, changes={**(self.changes or {}), **changes})


def leaves(value: Any, path: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    """Yield all scalars in `value`, each with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path, value


def events_file(version: str) -> Path:
    """Return the file of the committed events of a LiteLLM version."""
    return EVENTS / f"{version}.json.gz"


def write_events(events: Sequence[Event], file: Path) -> None:
    """Write events to a file. The same events give the same bytes."""
    lines = [{"kind": event.kind, "hook": event.hook, "arguments": event.arguments} for event in events]
    text = json.dumps({"format": FORMAT, "events": lines}, separators=(",", ":"), sort_keys=True)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def read_events(file: Path) -> list[Event]:
    """Read events from a file. Raise `WrongUse` if it has another format."""
    content = json.loads(gzip.decompress(file.read_bytes()))
    if content["format"] != FORMAT:
        raise WrongUse(
            f"{file.name}: expected format {FORMAT}, got format {content['format']}.",
            hint="Record the events again: python -m evenkeel_lab.bench.prometheus_callback.record",
        )
    return [Event(entry["kind"], entry["hook"], entry["arguments"]) for entry in content["events"]]


def pack_events(events: Sequence[Event]) -> str:
    """Return events as the text that `replay.py` reads, in which shared arguments are written once."""
    bases: dict[int, int] = {}
    shared: list[Mapping[str, Any]] = []
    lines = []
    for event in events:
        number = bases.setdefault(id(event.arguments), len(bases))
        if number == len(shared):
            shared.append(event.arguments)
        changes = [[list(path), value] for path, value in (event.changes or {}).items()]
        lines.append({"hook": event.hook, "base": number, "changes": changes})
    return json.dumps({"bases": shared, "events": lines})
