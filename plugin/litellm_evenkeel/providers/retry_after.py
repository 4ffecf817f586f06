"""How long until an account may be used again, from all that a refusal says about it.

Two kinds of statements are told apart. Some are about *this refusal*: `Retry-After`, `resets_in_seconds`, "try again
in 20 s". Others are about a *limit*, are sent with every response and tell when it is whole again, such as
`x-ratelimit-reset-tokens` and `anthropic-ratelimit-requests-reset`. Which one counts:

1. Of several statements about the refusal, the longest: too early a return costs a failed request and counts against
   the account, too late a one costs a moment of one account among several. `Retry-After` in whole seconds gives way to
   the same in milliseconds, which it only rounds up.
2. A window of a subscription that is used up does not open before its end, so its reset counts beside them, and again
   the longest wins.
3. Other limits fill up continuously: their reset is when they are full, much later than when a request fits again. They
   count only where nothing is said about the refusal: the reset of the limit that the refusal names, else the longest
   among those that are exhausted, else among those that do not tell what is left of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.providers.error_body import error_of
from litellm_evenkeel.providers.limit_headers import exhausted_subscriptions, parse_limit_headers, plain
from litellm_evenkeel.support import durations

if TYPE_CHECKING:
    from litellm_evenkeel.providers.limit_headers import LimitReading

_LONGEST_TEXT = 2000
_DEEPEST = 6
_MOST_FIELDS = 200

_SPAN_FIELDS = frozenset(
    {"resets_in_seconds", "reset_in_seconds", "reset_after", "retry_after", "retry_after_seconds", "retrydelay"}
    | {"quotaresetdelay", "retry-after"}
)
_MILLISECOND_FIELDS = frozenset({"retry_after_ms", "retry-after-ms"})
_MOMENT_FIELDS = frozenset(
    {"resets_at", "reset_at", "reset_time", "retry_at", "quotaresettimestamp", "x-ratelimit-reset"}
)
# What a body may quote of the request.
_QUOTED = frozenset({"input", "ctx", "messages", "content"})

# Sentences are searched in lower case: for a word first, then for what stands behind it.
_WORD = re.compile(r"again|retry|reset|wait|available|access|until|expected|refresh")
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
# Without such a word it may be the length of a window, which is all right if nothing better is said.
_BARE = re.compile(rf"in (?:about )?(?P<span>{durations.SPAN})")
# Claude Code's own way to hand a moment on.
_PIPED = re.compile(r"limit reached\|(?P<epoch>[0-9]{10,13})\b")
_NAMED = re.compile(
    r"\b(?P<what>(?:input |output )?tokens|requests) per (?:min|minute|day|hour|second)\b", re.IGNORECASE
)
_DAY = 86400.0


def until_reset(headers: Mapping[Any, Any] | None, body: object, text: str | None, *, now: float) -> float | None:
    """Return the seconds until the limit behind a refusal resets, at least zero; None if nothing is said.

    The body is the parsed one; the text is its message.
    """
    fields = plain(headers)
    return reset_after(fields, parse_limit_headers(fields, now=now), body, text, now=now)


def reset_after(
    headers: Mapping[Any, Any], limits: Iterable[LimitReading], body: object, text: str | None, *, now: float
) -> float | None:
    """Return the same, the limits having been read already."""
    limits = tuple(limits)
    stated = [one.resets_in for one in exhausted_subscriptions(limits) if one.resets_in is not None]
    refusal = retry_after(headers, body, text, now=now)
    if refusal is not None:
        stated.append(refusal)
    if stated:
        return max(stated)
    return _refilled([one for one in limits if not one.is_subscription and one.resets_in], body, text)


def retry_after(headers: Mapping[Any, Any] | None, body: object, text: str | None, *, now: float) -> float | None:
    """Return the seconds after which a refusal itself says to come again; None if it does not."""
    found = [*_retry_after(plain(headers), now), *_fields(body, now), *_texts(text or "", now)]
    return max(found, default=None)


def _retry_after(headers: Mapping[str, str], now: float) -> Iterator[float]:
    coarse = durations.wait(headers.get("retry-after"), now)
    fine = next(
        (
            milliseconds / 1000
            for name in ("retry-after-ms", "x-ms-retry-after-ms")
            if (milliseconds := durations.number(headers.get(name))) is not None
        ),
        None,
    )
    if fine is not None:
        yield fine
    if coarse is not None and (fine is None or not 0 <= coarse - fine <= 1):
        yield coarse


def _fields(body: object, now: float) -> Iterator[float]:
    """Yield what the fields of a body say, wherever they are, but for what it quotes."""
    left: list[tuple[object, int]] = [(body, 0)]
    for _ in range(_MOST_FIELDS):
        if not left:
            return
        value, depth = left.pop()
        if depth < _DEEPEST and isinstance(value, Mapping):
            for name, inner in islice(value.items(), _MOST_FIELDS):
                found = _field(name, inner, now)
                if found is not None:
                    yield found
                elif isinstance(inner, Mapping | list) and name not in _QUOTED:
                    left.append((inner, depth + 1))
        elif depth < _DEEPEST and isinstance(value, list):
            left.extend((inner, depth + 1) for inner in value[:_MOST_FIELDS])


def _field(name: object, value: object, now: float) -> float | None:
    key = name.lower() if isinstance(name, str) else ""
    if key in _SPAN_FIELDS:
        return durations.span(value)
    if key in _MOMENT_FIELDS:
        return durations.wait(value, now)
    if key in _MILLISECOND_FIELDS:
        milliseconds = durations.number(value)
        return None if milliseconds is None else milliseconds / 1000
    return None


def _texts(text: str, now: float) -> list[float]:
    """Return what sentences say; a time of day counts only where its zone is UTC, for no other is known."""
    text = text[:_LONGEST_TEXT].lower()
    found = [_behind(text, word.end(), now) for word in _WORD.finditer(text)]
    if "limit reached|" in text:
        found += [durations.wait(match["epoch"], now) for match in _PIPED.finditer(text)]
    if not any(seconds is not None for seconds in found):
        found += [durations.span(match["span"]) for match in _BARE.finditer(text)]
    return [seconds for seconds in found if seconds is not None]


def _behind(text: str, start: int, now: float) -> float | None:
    """Return what stands right behind a word such as "again"."""
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


def _refilled(limits: list[LimitReading], body: object, text: str | None) -> float | None:
    """Return when a limit is whole again: the one that is named, else the longest that may be the one."""
    named = _named(body, text)
    for candidates in (
        [one for one in limits if one.dimension == named],
        [one for one in limits if one.is_exhausted],
        [one for one in limits if one.remaining is None and one.used_share is None],
    ):
        if candidates:
            return max(one.resets_in or 0.0 for one in candidates)
    return None


def _named(body: object, text: str | None) -> str | None:
    """Return the limit that a refusal names: OpenAI in the error's type, Anthropic in a sentence."""
    kind: Any = error_of(body).get("type") if isinstance(body, Mapping) else None
    if isinstance(kind, str) and kind in {"tokens", "requests"}:
        return kind
    match = _NAMED.search((text or "")[:_LONGEST_TEXT])
    return match["what"].lower().replace(" ", "-") if match else None
