"""Faults on demand: during a period (timeline), or for one request (header).

    status=429             answer with that status; `retry_after=2` tells when to come again. Hostile variants:
                           `raw_retry_after=-1` sends any text, `body_kb=10000` and `header_kb=64` pad the answer,
                           `encoding=utf-16|invalid|gzip` sends a body that is not what its headers say,
                           `echo=1` sends key and prompt back in the message
    hang                   accept the request and send nothing, for ever; `hang=5` answers after 5 s
    reset=3                cut the connection after 3 chunks (0: right after the headers)
    half_event=3           after 3 chunks send half an event, then close as if all were well
    error_event=3          after 3 chunks send the provider's own error event and end; a whole answer is a 5xx instead
    stall                  in a timeline: whatever comes meanwhile waits until it is over, and is then answered
    slow=3                 take three times as long; `slow=1,add_ms=500` takes half a second longer
    malformed              answer 200 with broken JSON; in a stream, one broken event after `malformed=2` good ones
  each with `p=0.1` to strike a tenth of the requests only. Chosen by draw: the same requests in every run.

As a header:   x-mock-fault: status=503,p=0.5
In a timeline: {at: 12, for: 8, account: b, model: gpt-4o, fault: "status=429,retry_after=2"}
               {at: 12, for: 8s, account: "*", status: 429, retry_after: 2}
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import durations, fields
from evenkeel_mock.timing.draws import uniform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ANY = "*"
LEAST_STATUS, MOST_STATUS = 400, 599
MOST_CHUNKS = 1_000_000
MOST_BODY_KB, MOST_HEADER_KB = 100_000, 1_000
FOREVER = math.inf


class Kind(StrEnum):
    """Kinds of faults."""

    STATUS = "status"
    HANG = "hang"
    RESET = "reset"
    HALF_EVENT = "half_event"
    ERROR_EVENT = "error_event"
    STALL = "stall"
    SLOW = "slow"
    MALFORMED = "malformed"


class Encoding(StrEnum):
    """Encodings of a body that its headers do not announce."""

    UTF_16 = "utf-16"
    INVALID = "invalid"
    """UTF-8 with bytes that are none."""
    GZIP = "gzip"
    """The headers announce gzip, and the body is plain."""


HOSTILE = ("raw_retry_after", "body_kb", "header_kb", "encoding", "echo")
OPTIONS: dict[Kind, tuple[str, ...]] = {
    Kind.STATUS: ("p", "retry_after", *HOSTILE),
    Kind.HANG: ("p",),
    Kind.RESET: ("p",),
    Kind.HALF_EVENT: ("p",),
    Kind.ERROR_EVENT: ("p",),
    Kind.STALL: ("p",),
    Kind.SLOW: ("p", "add_ms"),
    Kind.MALFORMED: ("p",),
}
EVERY_OPTION = ("p", "retry_after", "add_ms", *HOSTILE)
ENTRY_KEYS = ("at", "for", "account", "model", "fault")


@dataclass(frozen=True)
class Fault:
    """One fault. Each kind uses only the numbers that apply to it."""

    kind: Kind
    status: int = 0
    retry_after_ns: int | None = None
    chunks: int = 0
    """Chunks that a stream sends before the fault."""
    factor: float = 1.0
    seconds: float = 0.0
    """Seconds that a request hangs (`inf`: for ever), or that a slow answer takes longer."""
    p: float = 1.0
    raw_retry_after: str = ""
    body_kb: int = 0
    header_kb: int = 0
    encoding: Encoding | None = None
    echo: bool = False
    """Whether the message of an error contains the key and the prompt."""


@dataclass(frozen=True)
class Entry:
    """A fault with its period (seconds of the run), account and model."""

    fault: Fault
    start: float = 0.0
    end: float = FOREVER
    account: str = ANY
    model: str = ANY


def active(
    timeline: Sequence[Entry], now_s: float, account: str, model: str, *, seed: int = 0, key: bytes = b""
) -> Fault | None:
    """Return the fault that strikes a request at that second of the run: the first one that applies.

    Whether a fault with a chance strikes is drawn anew for each account and each entry: a request that fails on one
    account may succeed on another, but fails again when it is sent again to the same.
    """
    for number, entry in enumerate(timeline):
        if (
            entry.start <= now_s < entry.end
            and entry.account in (ANY, account)
            and entry.model in (ANY, model)
            and strikes(entry.fault, seed, key, account, number)
        ):
            fault = entry.fault
            return replace(fault, seconds=entry.end - now_s) if fault.kind is Kind.STALL else fault
    return None


def strikes(fault: Fault, seed: int, key: bytes, account: str = "", number: int = 0) -> bool:
    """Return whether a fault strikes that request: always, unless it has a chance."""
    return fault.p >= 1 or uniform(seed, key, b"fault " + account.encode(), number) < fault.p


def parse_header(text: str, where: str = "x-mock-fault") -> Fault:
    """Read a fault from a text such as `status=503,p=0.5`."""
    given: dict[str, object] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name in given:
            raise MockConfigError(f"{where}: {name!r} is given twice.", hint="Give it once.")
        given[name] = value if equals else None
    return _fault(given, where)


def parse_timeline(value: object, where: str = "faults") -> tuple[Entry, ...]:
    """Read a list of entries. Of two that overlap, the first listed strikes."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MockConfigError(f"{where}: is not a list.", hint="Such as [{at: 12, for: 8, account: b, status: 429}].")
    return tuple(parse_entry(item, f"{where}[{number}]") for number, item in enumerate(value))


def parse_entry(value: object, where: str = "fault") -> Entry:
    """Read one entry of a timeline."""
    given = dict(fields.mapping(value, (*ENTRY_KEYS, *Kind, *EVERY_OPTION), where))
    start = durations.seconds(given.pop("at", 0), f"{where}: at")
    length = durations.seconds(given.pop("for"), f"{where}: for") if "for" in given else FOREVER
    account = fields.text(given.pop("account", ANY), f"{where}: account")
    model = fields.text(given.pop("model", ANY), f"{where}: model")
    text = given.pop("fault", None)
    if text is None:
        fault = _fault(given, where)
    elif given:
        raise MockConfigError(f"{where}: {next(iter(given))!r} belongs into `fault`.", hint="Write one or the other.")
    else:
        fault = parse_header(fields.text(text, f"{where}: fault"), f"{where}: fault")
    return Entry(fault, start, start + length, account, model)


def _fault(given: Mapping[str, Any], where: str) -> Fault:
    kinds = [name for name in given if name in tuple(Kind)]
    if len(kinds) != 1:
        for name in given:
            fields.known(name, (*Kind, *EVERY_OPTION), "fault or option", where)
        raise MockConfigError(f"{where}: wants one fault, has {len(kinds)}.", hint=f"One of: {', '.join(Kind)}.")
    kind = Kind(kinds[0])
    options = {name: value for name, value in given.items() if name != kind}
    for name in options:
        fields.known(name, OPTIONS[kind], f"option of {kind}", where)
    setting_path = f"{where}: {kind}"
    p = fields.number(options["p"], f"{setting_path}: p", most=1) if "p" in options else 1.0
    # Some need no number; YAML writes them as `hang: true`.
    value = None if given[kind] is True else given[kind]
    return _of_kind(kind, value, options, p, setting_path)


def _of_kind(kind: Kind, value: object, options: Mapping[str, Any], p: float, setting_path: str) -> Fault:
    match kind:
        case Kind.STATUS | Kind.SLOW if value is None:
            raise MockConfigError(f"{setting_path}: wants a number.", hint="Such as status=429, or slow=3.")
        case Kind.STALL if value is not None:
            raise MockConfigError(f"{setting_path}: takes no number.", hint="Its entry's `for` says how long it lasts.")
        case Kind.STATUS:
            status = fields.integer(value, setting_path, least=LEAST_STATUS, most=MOST_STATUS)
            return Fault(
                kind,
                status=status,
                retry_after_ns=_retry_after(options, setting_path),
                p=p,
                raw_retry_after=str(options.get("raw_retry_after", "")),
                body_kb=_kilobytes(options, "body_kb", MOST_BODY_KB, setting_path),
                header_kb=_kilobytes(options, "header_kb", MOST_HEADER_KB, setting_path),
                encoding=_encoding(options, setting_path),
                echo=bool(fields.integer(options.get("echo", 0), f"{setting_path}: echo", least=0, most=1)),
            )
        case Kind.HANG:
            return Fault(kind, seconds=FOREVER if value is None else durations.seconds(value, setting_path), p=p)
        case Kind.STALL:
            return Fault(kind, p=p)
        case Kind.SLOW:
            added = fields.number(options.get("add_ms", 0), f"{setting_path}: add_ms") / 1000
            return Fault(kind, factor=fields.number(value, setting_path), seconds=added, p=p)
        case Kind.RESET | Kind.HALF_EVENT | Kind.ERROR_EVENT | Kind.MALFORMED:
            chunks = 0 if value is None else fields.integer(value, setting_path, least=0, most=MOST_CHUNKS)
            return Fault(kind, chunks=chunks, p=p)


def _retry_after(options: Mapping[str, Any], setting_path: str) -> int | None:
    if "retry_after" not in options:
        return None
    return round(durations.seconds(options["retry_after"], f"{setting_path}: retry_after") * durations.NS)


def _kilobytes(options: Mapping[str, Any], name: str, most: int, setting_path: str) -> int:
    return fields.integer(options.get(name, 0), f"{setting_path}: {name}", least=0, most=most)


def _encoding(options: Mapping[str, Any], setting_path: str) -> Encoding | None:
    if "encoding" not in options:
        return None
    name = str(options["encoding"])
    fields.known(name, tuple(Encoding), "encoding", setting_path)
    return Encoding(name)
