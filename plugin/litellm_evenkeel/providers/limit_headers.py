"""Limit readings in response headers: how much of each limit is left, and until when.

Providers send these headers with successful responses too, so an account can be spared before it rejects requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from litellm_evenkeel.support import durations

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "llm_provider-"
"""Prefix that LiteLLM adds to the names of a provider's headers."""


class NormalizedHeaders(dict[str, str]):
    """Headers as `normalize_headers` returns them."""


def normalize_headers(headers: object) -> NormalizedHeaders:
    """Return headers by lower-case names, without LiteLLM's prefix. Values of other types are left out.

    A prefixed name takes precedence over the same name without the prefix: it is certain to be the provider's own.
    """
    normalized = NormalizedHeaders()
    prefixed: dict[str, str] = {}
    if isinstance(headers, NormalizedHeaders):
        return headers
    if not isinstance(headers, Mapping):
        return normalized
    for name, value in headers.items():
        # A response has dozens of headers, nearly all of them `str`: this check is faster than the function call.
        text = value if type(value) is str else _text(value)
        key = name if type(name) is str else _text(name)
        if text is None or key is None:
            continue
        key = key.strip().lower()
        if key.startswith(PREFIX):
            prefixed[key.removeprefix(PREFIX)] = text
        else:
            normalized[key] = text
    normalized.update(prefixed)
    return normalized


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20):
        return str(value)
    return None


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_PERIODS = {"second": 1.0, "minute": _MINUTE, "hour": _HOUR, "day": _DAY, "month": 30 * _DAY}
_UNITS = {"m": _MINUTE, "h": _HOUR, "d": _DAY}
_DIMENSIONS = {"req": "requests", "request": "requests", "token": "tokens", "": "requests"}

_HEADER_NAMES = re.compile(
    # OpenAI and most others; Azure sometimes writes `x-rate-limit-`, Cerebras and Mistral append the period.
    r"x-rate-?limit-(?P<counted>limit|remaining|reset)(?:-(?P<of>[a-z-]+?))?(?:-(?P<per>second|minute|hour|day|month))?"
    r"|ratelimit-(?P<draft>limit|remaining|reset)"
    r"|x-tokenlimit-(?P<tokens>limit|remaining|reset)"
    r"|anthropic-ratelimit-unified-(?:(?P<claim>[a-z0-9_]+)-)?(?P<unified>status|reset|utilization)"
    r"|anthropic-ratelimit-(?P<thing>[a-z-]+)-(?P<anthropic>limit|remaining|reset)"
    r"|x-codex-(?P<window>(?:[a-z0-9_-]+-)?(?:primary|secondary))-"
    r"(?P<codex>used-percent|window-minutes|reset-after-seconds|reset-at)"
)
# "overage" states whether more could be bought: most accounts are "rejected" there, and work nevertheless.
_IGNORED_CLAIMS = frozenset({"overage", "fallback"})
_SUBSCRIPTIONS = ("unified", "codex")


@dataclass(frozen=True, slots=True)
class LimitReading:
    """One limit as the headers of one response state it. What they do not state is `None`."""

    dimension: str
    """`requests`, `tokens`, `input-tokens`..., or a window of a subscription: `unified-5h`, `codex-primary`."""
    window_seconds: float | None
    """Length of the period; `None` if the provider does not state whether it counts per minute or per day."""
    limit: float | None
    remaining: float | None
    used_share: float | None
    """Share from 0 (unused) to 1 (used up); slightly above 1 is possible for a subscription."""
    resets_in: float | None
    """Seconds until the whole limit is available again, rather than until any of it is."""

    def keeping(self, share: float) -> LimitReading:
        """Return the reading of a limit of which this share is never used."""
        limit = None if self.limit is None else self.limit * (1 - share)
        remaining = self.remaining
        if remaining is not None and self.limit is not None:
            remaining = max(remaining - self.limit * share, 0.0)
        used_share = None if self.used_share is None else self.used_share / (1 - share)
        return replace(self, limit=limit, remaining=remaining, used_share=used_share)

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left."""
        return self.remaining == 0 or (self.used_share is not None and self.used_share >= 1)

    @property
    def is_subscription(self) -> bool:
        """Whether this is a fixed window of a subscription, which frees nothing before its end."""
        return self.dimension.startswith(_SUBSCRIPTIONS)


def parse_limit_headers(headers: object, *, now: float) -> tuple[LimitReading, ...]:
    """Return every limit that the headers state; malformed headers are ignored."""
    fields: dict[tuple[str, float | None], dict[str, str]] = {}
    for name, value in normalize_headers(headers).items():
        # Most headers state no limit, and a search for a word is cheaper than a pattern.
        if "limit" not in name and not name.startswith("x-codex-"):
            continue
        parsed = _parse_name(name)
        if parsed:
            limit, field = parsed
            fields.setdefault(limit, {})[field] = value
    return tuple(
        reading
        for (dimension, seconds), values in fields.items()
        if (reading := _reading(dimension, seconds, values, now))
    )


def exhausted_subscriptions(limits: Iterable[LimitReading]) -> list[LimitReading]:
    """Return the windows of a subscription that block every request until they end.

    If Anthropic's overall status is "allowed", an exhausted window does not matter: the account buys additional usage.
    """
    windows = [reading for reading in limits if reading.is_subscription]
    is_allowed = any(reading.dimension == "unified" and not reading.is_exhausted for reading in windows)
    return [
        reading
        for reading in windows
        if reading.is_exhausted and not (is_allowed and reading.dimension.startswith("unified"))
    ]


@lru_cache(maxsize=512)
def _parse_name(name: str) -> tuple[tuple[str, float | None], str] | None:
    """Return the limit (dimension and period) and the field that a header names; `None` if it names none.

    Cached, as a provider's header names are few and always the same.
    """
    match = _HEADER_NAMES.fullmatch(name)
    if not match:
        return None
    groups = match.groupdict()
    claim = groups["claim"]
    if claim in _IGNORED_CLAIMS:
        return None
    for form, dimension in (
        ("unified", f"unified-{claim}" if claim else "unified"),
        ("codex", f"codex-{groups['window']}"),
        ("anthropic", groups["thing"]),
        ("tokens", "tokens"),
    ):
        if groups[form]:
            return (dimension, _claim_seconds(claim)), groups[form]
    of = groups["of"] or ""
    return (_DIMENSIONS.get(of, of), _PERIODS.get(groups["per"])), groups["counted"] or groups["draft"]


def _claim_seconds(claim: str | None) -> float | None:
    """Return the length in seconds of a window called `5h`, `7d` or `7d_opus`; `None` for other names."""
    match = re.match(r"([0-9]{1,4})([mhd])(?:_|$)", claim or "")
    return int(match[1]) * _UNITS[match[2]] if match else None


def _reading(dimension: str, seconds: float | None, fields: dict[str, str], now: float) -> LimitReading | None:
    limit, remaining = durations.number(fields.get("limit")), durations.number(fields.get("remaining"))
    share, resets = None, durations.wait(fields.get("reset"), now)
    if limit and remaining is not None:
        share = max(0.0, 1 - remaining / limit)
    if "utilization" in fields:
        share = durations.number(fields["utilization"])
    if fields.get("status", "").lower() == "rejected":
        # The window rejects requests, whatever utilization it states.
        share = max(1.0, share or 0.0)
    percent = durations.number(fields.get("used-percent"))
    if percent is not None:
        share = percent / 100
    minutes = durations.number(fields.get("window-minutes"))
    if minutes:
        seconds = minutes * _MINUTE
    if resets is None:
        resets = durations.span(fields.get("reset-after-seconds"))
    if resets is None:
        resets = durations.wait(fields.get("reset-at"), now)
    if limit is None and remaining is None and share is None and not resets:
        return None
    return LimitReading(dimension, seconds, limit, remaining, share, resets)
