"""Spans and moments of time, in every form in which providers write them.

A moment becomes the seconds until it. What cannot be read, is negative or has no end is None: a provider's nonsense is
no reason to hold an account.
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
"""A pattern, to be built into others: `1m2.5s`, `6ms`, `3 days 4 hours`, `1 hour, 2 minutes and 3 seconds`."""

_WHOLE = re.compile(SPAN, re.IGNORECASE)
_EACH = re.compile(
    rf"([0-9.]+)\s{{0,2}}(?:{'|'.join(f'({spellings})' for spellings in _UNITS)})(?![a-zµμ])", re.IGNORECASE
)
_SIZES = tuple(_UNITS.values())
_HTTP_DATE = re.compile(r"[A-Za-z]{3,9},? ")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

# Seconds since 1970 have ten digits since 2001; no span in seconds does. From each of these on, the unit is smaller.
_EPOCH_SECONDS = 1e9
_EPOCH_PARTS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def number(value: object) -> float | None:
    """Return a number that is at least zero, written as one or as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # An int may be larger than any float.
        return float(value) if 0 <= value < math.inf and value < 10**300 else None
    if isinstance(value, str) and NUMBER.fullmatch(text := value.strip()):
        # `float` does not strip all that `strip` does, such as a unit separator.
        return float(text)
    return None


def span(value: object) -> float | None:
    """Return the seconds of a span: a number of seconds, or text such as `34.07s`, `1m2.5s` or `20 minutes`."""
    found = number(value)
    if found is not None or not isinstance(value, str):
        return found
    text = value.strip()
    if len(text) > 100 or not _WHOLE.fullmatch(text):  # noqa: PLR2004 - no span that anybody writes is as long
        return None
    return sum(
        float(part[1]) * next(size for size, spelled in zip(_SIZES, part.groups()[1:], strict=True) if spelled)
        for part in _EACH.finditer(text)
    )


def wait(value: object, now: float) -> float | None:
    """Return the seconds until a moment, zero if it has passed; what is a span is taken for one.

    A moment is RFC 3339, an HTTP date, or a number since 1970 in seconds or in parts of them.
    """
    found = span(value)
    if found is not None:
        return found if found < _EPOCH_SECONDS else max(0.0, _epoch(found) - now)
    moment = _moment(value.strip()) if isinstance(value, str) else None
    return None if moment is None else max(0.0, moment - now)


def _epoch(value: float) -> float:
    return next((value / parts for least, parts in _EPOCH_PARTS if value >= least), value)


def _moment(text: str) -> float | None:
    try:
        if _DATE.match(text):
            moment = datetime.fromisoformat(text)
        elif _HTTP_DATE.match(text):
            moment = parsedate_to_datetime(text)
        else:
            return None
        # What names no zone is meant as UTC, in both forms.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
