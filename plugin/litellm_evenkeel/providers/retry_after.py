"""Time until an account may be used again, from the headers and the body of a failed response.

Providers make two kinds of statements. Some concern *this failure*: `Retry-After`, `resets_in_seconds`, "try again in
20 s". Others concern a *limit*; they come with every response and state when the limit is whole again, such as
`x-ratelimit-reset-tokens` and `anthropic-ratelimit-requests-reset`. They are combined as follows:

1. Of several statements about the failure, the longest counts: a retry that is too early costs a failed request and
   counts against the account, one that is too late only spares one of several accounts for a moment. A
   `Retry-After` in whole seconds is ignored beside the same value in milliseconds, which it only rounds up.
2. An exhausted window of a subscription does not open before its end. So its reset counts as well, and again the
   longest applies.
3. Other limits refill continuously: their reset is the time when they are full, long after a request fits again. They
   count only if there is no statement about the failure. Then the reset of the limit that the failure names applies,
   else the longest among exhausted limits, else the longest among limits that do not state what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.providers.error_body import error_object
from litellm_evenkeel.providers.limit_headers import exhausted_subscriptions, normalize_headers
from litellm_evenkeel.support import durations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litellm_evenkeel.providers.limit_headers import LimitReading

_MAX_TEXT_CHARACTERS = 2000
_MAX_DEPTH = 6
_MAX_FIELDS = 200

_SPAN_FIELDS = frozenset(
    {"resets_in_seconds", "reset_in_seconds", "reset_after", "retry_after", "retry_after_seconds", "retrydelay"}
    | {"quotaresetdelay", "retry-after"}
)
_MILLISECOND_FIELDS = frozenset({"retry_after_ms", "retry-after-ms"})
_INSTANT_FIELDS = frozenset(
    {"resets_at", "reset_at", "reset_time", "retry_at", "quotaresettimestamp", "x-ratelimit-reset"}
)
# Fields in which a body may quote the request.
_QUOTING_FIELDS = frozenset({"input", "ctx", "messages", "content"})

# Messages are searched in lower case: first for one of these words, then for the time right behind it.
_KEYWORD = re.compile(r"again|retry|reset|wait|available|access|until|expected|refresh")
_IN = re.compile(
    r"(?:s|es|ing)?(?: (?:it|request|your request|balance))?:? ?(?:in|after|for)?:? {1,2}"
    rf"(?:about |approximately )?~?(?P<span>{durations.SPAN})"
)
_AT = re.compile(
    r"s?(?: time)?:? ?(?:in|at|on|after|is)?:? {1,2}(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:(?:t| at | )(?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)"
    r" ?(?P<zone>z|utc|gmt|[+-][0-9]{2}:?[0-9]{2}(?![0-9]))?)?"
)
_CLOCK = re.compile(
    r"s? (?:at )?(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5][0-9]))? ?(?P<half>[ap])m \(?(?:utc|gmt)\b"
)
# Without a keyword, the duration may be the length of a window; it is used only if there is nothing better.
_BARE_SPAN = re.compile(rf"in (?:about )?(?P<span>{durations.SPAN})")
# The form in which Claude Code passes an instant on.
_PIPED = re.compile(r"limit reached\|(?P<epoch>[0-9]{10,13})\b")
_NAMED = re.compile(
    r"\b(?P<what>(?:input |output )?tokens|requests) per (?:min|minute|day|hour|second)\b", re.IGNORECASE
)
_DAY = 86400.0


def until_reset(
    headers: Mapping[Any, Any] | None,
    limits: Sequence[LimitReading],
    body: object,
    text: str | None,
    *,
    now: float,
) -> float | None:
    """Return the seconds until the limit behind a failure resets, at least 0; `None` if unknown.

    `limits` are parsed from the headers, `body` is parsed JSON, and `text` is its message.
    """
    stated = [reading.resets_in for reading in exhausted_subscriptions(limits) if reading.resets_in is not None]
    of_failure = retry_after(headers, body, text, now=now)
    if of_failure is not None:
        stated.append(of_failure)
    if stated:
        return max(stated)
    return _refill_seconds(
        [reading for reading in limits if not reading.is_subscription and reading.resets_in], body, text
    )


def retry_after(headers: Mapping[Any, Any] | None, body: object, text: str | None, *, now: float) -> float | None:
    """Return the longest wait, in seconds, that the failure itself states; `None` if it states none."""
    stated = [*_of_headers(normalize_headers(headers), now), *_of_fields(body, now), *_of_text(text or "", now)]
    return max(stated, default=None)


def _of_headers(headers: Mapping[str, str], now: float) -> Iterator[float]:
    whole_seconds = durations.wait(headers.get("retry-after"), now)
    precise = next(
        (
            milliseconds / 1000
            for name in ("retry-after-ms", "x-ms-retry-after-ms")
            if (milliseconds := durations.number(headers.get(name))) is not None
        ),
        None,
    )
    if precise is not None:
        yield precise
    if whole_seconds is not None and (precise is None or not 0 <= whole_seconds - precise <= 1):
        yield whole_seconds


def _of_fields(body: object, now: float) -> Iterator[float]:
    """Yield the seconds in fields at any depth of a body, except in those that quote the request."""
    pending: list[tuple[object, int]] = [(body, 0)]
    for _ in range(_MAX_FIELDS):
        if not pending:
            return
        value, depth = pending.pop()
        if depth < _MAX_DEPTH and isinstance(value, Mapping):
            for name, inner in islice(value.items(), _MAX_FIELDS):
                seconds = _field_seconds(name, inner, now)
                if seconds is not None:
                    yield seconds
                elif isinstance(inner, Mapping | list) and name not in _QUOTING_FIELDS:
                    pending.append((inner, depth + 1))
        elif depth < _MAX_DEPTH and isinstance(value, list):
            pending.extend((inner, depth + 1) for inner in value[:_MAX_FIELDS])


def _field_seconds(name: object, value: object, now: float) -> float | None:
    key = name.lower() if isinstance(name, str) else ""
    if key in _SPAN_FIELDS:
        return durations.span(value)
    if key in _INSTANT_FIELDS:
        return durations.wait(value, now)
    if key in _MILLISECOND_FIELDS:
        milliseconds = durations.number(value)
        return None if milliseconds is None else milliseconds / 1000
    return None


def _of_text(text: str, now: float) -> list[float]:
    """Return the seconds that a message states. A time of day counts only in UTC, as other zones are unknown."""
    text = text[:_MAX_TEXT_CHARACTERS].lower()
    stated = [_seconds_behind(text, keyword.end(), now) for keyword in _KEYWORD.finditer(text)]
    if "limit reached|" in text:
        stated += [durations.wait(match["epoch"], now) for match in _PIPED.finditer(text)]
    if not any(seconds is not None for seconds in stated):
        stated += [durations.span(match["span"]) for match in _BARE_SPAN.finditer(text)]
    return [seconds for seconds in stated if seconds is not None]


def _seconds_behind(text: str, start: int, now: float) -> float | None:
    """Return the seconds stated right behind a keyword such as "again"; `None` if there are none."""
    match = _IN.match(text, start)
    if match:
        return durations.span(match["span"])
    match = _AT.match(text, start)
    if match:
        zone = (match["zone"] or "z").replace("utc", "z").replace("gmt", "z")
        return durations.wait(f"{match['date']}T{match['time'] or '00:00'}{zone.upper()}", now)
    match = _CLOCK.match(text, start)
    if match:
        hour = int(match["hour"]) % 12 + (12 if match["half"] == "p" else 0)
        return (hour * 3600 + int(match["minute"] or 0) * 60 - now) % _DAY
    return None


def _refill_seconds(limits: list[LimitReading], body: object, text: str | None) -> float | None:
    """Return the seconds until a limit is whole again: the limit that the failure names, else the longest candidate."""
    named = _named_dimension(body, text)
    for candidates in (
        [reading for reading in limits if reading.dimension == named],
        [reading for reading in limits if reading.is_exhausted],
        [reading for reading in limits if reading.remaining is None and reading.used_share is None],
    ):
        if candidates:
            return max(reading.resets_in or 0.0 for reading in candidates)
    return None


def _named_dimension(body: object, text: str | None) -> str | None:
    """Return the limit that the failure names: OpenAI in the error's type, Anthropic in the message."""
    kind: Any = error_object(body).get("type") if isinstance(body, Mapping) else None
    if isinstance(kind, str) and kind in {"tokens", "requests"}:
        return kind
    match = _NAMED.search((text or "")[:_MAX_TEXT_CHARACTERS])
    return match["what"].lower().replace(" ", "-") if match else None
