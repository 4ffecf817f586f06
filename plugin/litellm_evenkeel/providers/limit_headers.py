"""What the headers of a response say about an account's limits: how much is left, and until when.

Providers send these with successes too, so that an account can be left alone before it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from litellm_evenkeel.support import durations

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "llm_provider-"
"""What LiteLLM puts before the names of a provider's headers."""


class Fields(dict[str, str]):
    """Headers as `plain` returns them."""


def plain(headers: object) -> Fields:
    """Return headers by their names in lower case, without LiteLLM's prefix; what is no header is left out.

    A name with the prefix wins over the same without: it is certain to be the provider's own.
    """
    found = Fields()
    prefixed: dict[str, str] = {}
    if isinstance(headers, Fields):
        return headers
    if not isinstance(headers, Mapping):
        return found
    for name, value in headers.items():
        # Nearly all of them are text, and there are dozens of them.
        text = value if type(value) is str else _text(value)
        key = name if type(name) is str else _text(name)
        if text is None or key is None:
            continue
        key = key.strip().lower()
        if key.startswith(PREFIX):
            prefixed[key.removeprefix(PREFIX)] = text
        else:
            found[key] = text
    found.update(prefixed)
    return found


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20):
        return str(value)
    return None


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_WINDOWS = {"second": 1.0, "minute": _MINUTE, "hour": _HOUR, "day": _DAY, "month": 30 * _DAY}
_UNITS = {"m": _MINUTE, "h": _HOUR, "d": _DAY}
_SHORT = {"req": "requests", "request": "requests", "token": "tokens", "": "requests"}

_FORMS = re.compile(
    # OpenAI and most others; Azure writes `x-rate-limit-` at times, Cerebras and Mistral append the window.
    r"x-rate-?limit-(?P<counted>limit|remaining|reset)(?:-(?P<of>[a-z-]+?))?(?:-(?P<per>second|minute|hour|day|month))?"
    r"|ratelimit-(?P<draft>limit|remaining|reset)"
    r"|x-tokenlimit-(?P<tokens>limit|remaining|reset)"
    r"|anthropic-ratelimit-unified-(?:(?P<claim>[a-z0-9_]+)-)?(?P<unified>status|reset|utilization)"
    r"|anthropic-ratelimit-(?P<thing>[a-z-]+)-(?P<anthropic>limit|remaining|reset)"
    r"|x-codex-(?P<window>(?:[a-z0-9_-]+-)?(?:primary|secondary))-"
    r"(?P<codex>used-percent|window-minutes|reset-after-seconds|reset-at)"
)
# "Overage" says whether more could be bought: it is refused to most accounts, all of which go on working.
_NO_WINDOW = frozenset({"overage", "fallback"})
_SUBSCRIPTIONS = ("unified", "codex")


@dataclass(frozen=True, slots=True)
class LimitReading:
    """One limit, as of one response; what was not said is None."""

    dimension: str
    """`requests`, `tokens`, `input-tokens`..., or a subscription's window: `unified-5h`, `codex-primary`."""
    window_seconds: float | None
    """Providers that only say "requests" do not tell whether a minute's or a day's are meant."""
    limit: float | None
    remaining: float | None
    used_share: float | None
    """From 0, unused, to 1, used up; a subscription may be slightly beyond."""
    resets_in: float | None
    """Seconds until the limit is whole again, not until something is left of it again."""

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left."""
        return self.remaining == 0 or (self.used_share is not None and self.used_share >= 1)

    @property
    def is_subscription(self) -> bool:
        """Whether this is a fixed window of a subscription, of which nothing comes back before its end."""
        return self.dimension.startswith(_SUBSCRIPTIONS)


def parse_limit_headers(headers: Mapping[str, str] | object, *, now: float) -> tuple[LimitReading, ...]:
    """Return every limit that the headers tell about; garbage is as good as nothing."""
    found: dict[tuple[str, float | None], dict[str, str]] = {}
    for name, value in plain(headers).items():
        # Most headers are none of these, and looking for a word is cheaper than a pattern.
        if "limit" not in name and not name.startswith("x-codex-"):
            continue
        about = _about(name)
        if about:
            found.setdefault(about[0], {})[about[1]] = value
    return tuple(
        reading for (dimension, seconds), said in found.items() if (reading := _reading(dimension, seconds, said, now))
    )


def exhausted_subscriptions(limits: Iterable[LimitReading]) -> list[LimitReading]:
    """Return the windows of a subscription that let nothing through until they end.

    Where Anthropic says that the whole is allowed, a window that is used up does not matter: more is being bought.
    """
    used_up = [one for one in limits if one.is_subscription]
    goes_on = any(one.dimension == "unified" and not one.is_exhausted for one in used_up)
    return [one for one in used_up if one.is_exhausted and not (goes_on and one.dimension.startswith("unified"))]


@lru_cache(maxsize=512)
def _about(name: str) -> tuple[tuple[str, float | None], str] | None:
    """Return which limit a header is about, and what of it; a provider's names are few, and always the same."""
    match = _FORMS.fullmatch(name)
    if not match:
        return None
    groups = match.groupdict()
    claim = groups["claim"]
    if claim in _NO_WINDOW:
        return None
    for form, dimension in (
        ("unified", f"unified-{claim}" if claim else "unified"),
        ("codex", f"codex-{groups['window']}"),
        ("anthropic", groups["thing"]),
        ("tokens", "tokens"),
    ):
        if groups[form]:
            return (dimension, _claimed(claim)), groups[form]
    of = groups["of"] or ""
    return (_SHORT.get(of, of), _WINDOWS.get(groups["per"])), groups["counted"] or groups["draft"]


def _claimed(claim: str | None) -> float | None:
    """Return the length of a window that is called `5h`, `7d` or `7d_opus`."""
    match = re.match(r"([0-9]{1,4})([mhd])(?:_|$)", claim or "")
    return int(match[1]) * _UNITS[match[2]] if match else None


def _reading(dimension: str, seconds: float | None, said: dict[str, str], now: float) -> LimitReading | None:
    limit, remaining = durations.number(said.get("limit")), durations.number(said.get("remaining"))
    share, resets = None, durations.wait(said.get("reset"), now)
    if limit and remaining is not None:
        share = max(0.0, 1 - remaining / limit)
    if "utilization" in said:
        share = durations.number(said["utilization"])
    if said.get("status", "").lower() == "rejected":
        # It refuses, whatever share it thinks is used.
        share = max(1.0, share or 0.0)
    percent = durations.number(said.get("used-percent"))
    if percent is not None:
        share = percent / 100
    minutes = durations.number(said.get("window-minutes"))
    if minutes:
        seconds = minutes * _MINUTE
    if resets is None:
        resets = durations.span(said.get("reset-after-seconds"))
    if resets is None:
        resets = durations.wait(said.get("reset-at"), now)
    if limit is None and remaining is None and share is None and not resets:
        return None
    return LimitReading(dimension, seconds, limit, remaining, share, resets)
