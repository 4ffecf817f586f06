"""Server-sent events by the standard, except for lines that end with a carriage return only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from evenkeel_load.clock import now_ns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Lines(Protocol):
        """Source of lines."""

        def readline(self, sep: bytes) -> bytes:
            """Return the next line with its ending; empty at the end."""


END_MARK = b"[DONE]"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """An event, with the time in nanoseconds when its first line of data was read."""

    kind: bytes
    data: bytes
    size: int
    ns: int


def events(answer: Lines) -> Iterator[Event]:
    """Yield the events of an answer, each once it is complete. An event without its empty line is ignored."""
    kind, size, began = b"", 0, 0
    data: list[bytes] = []
    while line := answer.readline(b"\n"):
        size += len(line)
        field, _, value = line.removeprefix(BYTE_ORDER_MARK).rstrip(b"\r\n").partition(b":")
        if not field and not value:
            if data:
                yield Event(kind, b"\n".join(data), size, began)
                size, began = 0, 0
            kind, data = b"", []
        elif field == b"data":
            began = began or now_ns()
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            kind = value.strip()


def document(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object of an answer or an event; `None` if it is none."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def says_something(chunk: dict[str, Any]) -> bool:
    """Whether a chunk has content. The first chunk often has a role only, the last one a finish reason."""
    try:
        delta = chunk["choices"][0]["delta"]
        return bool(delta.get("content") or delta.get("tool_calls") or delta.get("reasoning_content"))
    except (AttributeError, KeyError, IndexError, TypeError):
        return False
