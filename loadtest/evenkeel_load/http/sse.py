"""A stream of server-sent events, as the standard has them, but for lines that end with a lone carriage return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from evenkeel_load.clock import now_ns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Lines(Protocol):
        """Where an answer is read from."""

        def readline(self, sep: bytes) -> bytes:
            """Return the next line with its ending; nothing at the end."""


END_MARK = b"[DONE]"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event, and when its first line of data was read, in nanoseconds."""

    kind: bytes
    data: bytes
    size: int
    ns: int


def events(answer: Lines) -> Iterator[Event]:
    """Return the events of an answer, each as soon as it is whole; one without its empty line is none."""
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
    """Return what stands in an answer or an event; None if that is no JSON object."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def says_something(chunk: dict[str, Any]) -> bool:
    """Return whether a chunk carries a token: the first often names the role only, the last why it ends."""
    try:
        delta = chunk["choices"][0]["delta"]
        return bool(delta.get("content") or delta.get("tool_calls") or delta.get("reasoning_content"))
    except (AttributeError, KeyError, IndexError, TypeError):
        return False
