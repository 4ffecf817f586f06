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
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.rotation import durations
from litellm_evenkeel.rotation.bodies import error_of
from litellm_evenkeel.rotation.limit_headers import readings
from litellm_evenkeel.rotation.provider_headers import plain

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limit_headers import Reading

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

_IN = re.compile(
    r"(?:again|retry|reset|resets|wait|available|refresh(?:es)?|expected)(?:\s(?:it|request|your request))?"
    rf"\s?(?:in|after|for)?:?\s{{1,2}}(?:about\s|~|approximately\s)?(?P<span>{durations.SPAN})",
    re.IGNORECASE,
)
# Without such a word it may be the length of a window, which is all right if nothing better is said.
_BARE = re.compile(rf"\bin (?:about\s)?(?P<span>{durations.SPAN})", re.IGNORECASE)
_AT = re.compile(
    r"(?:again|retry|reset|resets|reset time|access|until|available)\s?(?:in|at|on|after|is)?:?\s{1,2}"
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:(?:T|\sat\s|\s)(?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)"
    r"\s?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?![0-9]))?)?",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?:again|resets?|until|available)\s?(?:at\s)?"
    r"(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5][0-9]))?\s?(?P<half>[ap])m\s?\(?(?:UTC|GMT)\)?",
    re.IGNORECASE,
)
# Claude Code's own way to hand a moment on.
_PIPED = re.compile(r"limit reached\|(?P<epoch>[0-9]{10,13})\b")
_NAMED = re.compile(
    r"\b(?P<what>(?:input |output )?tokens|requests) per (?:min|minute|day|hour|second)\b", re.IGNORECASE
)
_DAY = 86400.0


def until_reset(headers: object, body: object, text: str | None, *, now: float) -> float | None:
    """Return the seconds until the limit behind a refusal resets, at least zero; None if nothing is said.

    The body is the parsed one; the text is its message.
    """
    fields = plain(headers)
    limits = readings(fields, now=now)
    stated = [
        said.resets_in for said in limits if said.is_subscription and said.is_exhausted and said.resets_in is not None
    ]
    refusal = said(fields, body, text, now=now)
    if refusal is not None:
        stated.append(refusal)
    if stated:
        return max(stated)
    return _refilled([one for one in limits if not one.is_subscription and one.resets_in], body, text)


def said(headers: object, body: object, text: str | None, *, now: float) -> float | None:
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
            for name, inner in list(value.items())[:_MOST_FIELDS]:
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


def _texts(text: str, now: float) -> Iterator[float]:
    """Yield what sentences say; a time of day counts only where its zone is UTC, for no other is known."""
    text = text[:_LONGEST_TEXT]
    for match in list(_IN.finditer(text)) or _BARE.finditer(text):
        seconds = durations.span(match["span"])
        if seconds is not None:
            yield seconds
    for match in _AT.finditer(text):
        zone = (match["zone"] or "Z").upper().replace("UTC", "Z").replace("GMT", "Z")
        seconds = durations.wait(f"{match['date']}T{match['time'] or '00:00'}{zone}", now)
        if seconds is not None:
            yield seconds
    for match in _CLOCK.finditer(text):
        hour = int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)
        yield (hour * 3600 + int(match["minute"] or 0) * 60 - now) % _DAY
    for match in _PIPED.finditer(text):
        seconds = durations.wait(match["epoch"], now)
        if seconds is not None:
            yield seconds


def _refilled(limits: list[Reading], body: object, text: str | None) -> float | None:
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
    if kind in {"tokens", "requests"}:
        return str(kind)
    match = _NAMED.search((text or "")[:_LONGEST_TEXT])
    return match["what"].lower().replace(" ", "-") if match else None
