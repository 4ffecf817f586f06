"""Spans and points of time, as users write them and as providers' headers spell them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from evenkeel_mock.errors import MockConfigError
from evenkeel_mock.parsing import fields

NS = 1_000_000_000
MS = 1_000_000
MINUTE, HOUR, DAY, WEEK = 60, 3600, 86_400, 604_800
# A century: longer than any test, and short enough to be counted in nanoseconds.
MOST_SECONDS = 100 * 366 * DAY
UNIT_MS = {"ms": 1, "s": 1000, "m": 1000 * MINUTE, "h": 1000 * HOUR, "d": 1000 * DAY, "w": 1000 * WEEK}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")


def seconds(value: object, where: str) -> float:
    """Read a span: a number of seconds, or a text such as 350ms, 5h, 1h30m or 7d."""
    if isinstance(value, str):
        compact = value.replace(" ", "").lower()
        parts = _PART.findall(compact)
        if parts and "".join(number + unit for number, unit in parts) == compact:
            value = sum(float(number) * UNIT_MS[unit] for number, unit in parts) / 1000
    try:
        return fields.number(value, where, most=MOST_SECONDS)
    except MockConfigError as error:
        raise MockConfigError(
            f"{where}: {value!r} is not a span of time.", hint="Write seconds, or such as 350ms, 90s, 1h30m, 7d."
        ) from error


def span(ns: int) -> str:
    """Spell a span as `x-ratelimit-reset-*` headers do: 350ms, 20s, 1m2.5s, 6m0s. Rounded up to a millisecond.

    Rounded up, here and below, because a client that waits exactly as long as it was told must not come too early.
    """
    milliseconds = -(-ns // MS)
    if milliseconds < 1000:  # noqa: PLR2004  # of these a second is made
        return f"{milliseconds}ms" if milliseconds > 0 else "0s"
    total_seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(total_seconds, MINUTE)
    fraction = f".{rest:03d}".rstrip("0") if rest else ""
    if not minutes:
        return f"{second}{fraction}s"
    if minutes < MINUTE:
        return f"{minutes}m{second}{fraction}s"
    hours, minutes = divmod(minutes, MINUTE)
    return f"{hours}h{minutes}m{second}{fraction}s"


def ceil_seconds(ns: int) -> int:
    """Return whole seconds, rounded up."""
    return -(-ns // NS)


def ceil_milliseconds(ns: int) -> int:
    """Return whole milliseconds, rounded up."""
    return -(-ns // MS)


def rfc3339(ns: int) -> str:
    """Spell a point of time as `anthropic-ratelimit-*-reset` headers do, rounded up to a second."""
    return _rfc3339(-(-ns // NS))


# All headers of one second name the same few ends of windows.
@lru_cache(maxsize=1024)
def _rfc3339(unix_seconds: int) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
