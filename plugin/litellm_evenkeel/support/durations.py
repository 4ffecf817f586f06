"""Durations and instants, in every form in which providers write them.

An instant becomes the seconds until it. A value that cannot be parsed, is negative or infinite becomes `None`:
malformed data of a provider must not put an account into a cooldown.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?")

# Longer spellings come first, so that "ms" is not read as "m".
_UNITS = {
    "nanoseconds?|ns": 1e-9,
    "microseconds?|us|µs|μs": 1e-6,
    "milliseconds?|msecs?|ms": 1e-3,
    "seconds?|secs?|s": 1.0,
    "minutes?|mins?|m": 60.0,
    "hours?|hrs?|h": 3600.0,
    "days?|d": 86400.0,
    "weeks?|w": 604800.0,
}
_PART = rf"[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?\s{{0,2}}(?:{'|'.join(_UNITS)})(?![a-zµμ])"
SPAN = rf"{_PART}(?:(?:\s{{0,2}},)?\s{{0,2}}(?:and\s)?{_PART}){{0,5}}"
"""Pattern of a duration, to be embedded in others; matches `1m2.5s`, `6ms` and `1 hour, 2 minutes and 3 seconds`."""

_WHOLE = re.compile(SPAN, re.IGNORECASE)
_PARTS = re.compile(
    rf"([0-9.]+)\s{{0,2}}(?:{'|'.join(f'({spellings})' for spellings in _UNITS)})(?![a-zµμ])", re.IGNORECASE
)
_SIZES = tuple(_UNITS.values())
_HTTP_DATE = re.compile(r"[A-Za-z]{3,9},? ")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_SPAN_CHARACTERS = 100

# A number of seconds since 1970 has had ten digits since 2001, which no duration in seconds has. From each of these
# bounds on, the number counts milliseconds, microseconds or nanoseconds.
_EPOCH_SECONDS = 1e9
_EPOCH_PARTS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def number(value: object) -> float | None:
    """Return `value`, a number or its text, as a float; `None` if it is no finite number of at least 0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # `float` raises OverflowError for an int that is larger than any float.
        return float(value) if 0 <= value < math.inf and value < 10**300 else None
    if isinstance(value, str) and NUMBER.fullmatch(text := value.strip()):
        # Stripped above, as `float` does not strip everything that `str.strip` does, such as a unit separator.
        return float(text)
    return None


def span(value: object) -> float | None:
    """Return the seconds of a duration: a number of seconds, or text such as `34.07s`, `1m2.5s` or `20 minutes`.

    `None` if `value` is neither.
    """
    seconds = number(value)
    if seconds is not None or not isinstance(value, str):
        return seconds
    text = value.strip()
    if len(text) > _MAX_SPAN_CHARACTERS or not _WHOLE.fullmatch(text):
        return None
    return sum(
        float(part[1]) * next(size for size, spelled in zip(_SIZES, part.groups()[1:], strict=True) if spelled)
        for part in _PARTS.finditer(text)
    )


def wait(value: object, now: float) -> float | None:
    """Return the seconds until an instant, 0 if it has passed; a duration is returned as it is.

    An instant is an RFC 3339 date, an HTTP date, or the time since 1970 in seconds, milliseconds, microseconds or
    nanoseconds. `None` if `value` is neither an instant nor a duration.
    """
    seconds = span(value)
    if seconds is not None:
        return seconds if seconds < _EPOCH_SECONDS else max(0.0, _epoch(seconds) - now)
    instant = _instant(value.strip()) if isinstance(value, str) else None
    return None if instant is None else max(0.0, instant - now)


def _epoch(value: float) -> float:
    return next((value / parts for bound, parts in _EPOCH_PARTS if value >= bound), value)


def _instant(text: str) -> float | None:
    try:
        if _DATE.match(text):
            instant = datetime.fromisoformat(text)
        elif _HTTP_DATE.match(text):
            instant = parsedate_to_datetime(text)
        else:
            return None
        # In both forms, UTC is meant where no zone is given.
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
