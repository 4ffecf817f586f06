"""Response headers about limits: `x-ratelimit-*`, `anthropic-ratelimit-*`, and quotas' headers.

OpenAI's shape   x-ratelimit-limit-requests, -remaining-requests, -reset-requests (a span: 1m2.5s), the same for tokens;
                 of quotas, the two shortest as x-codex-primary-* and x-codex-secondary-*
Anthropic's      anthropic-ratelimit-requests-limit, -remaining, -reset (RFC 3339), the same for tokens;
                 of quotas, anthropic-ratelimit-unified-5h-utilization, -reset (Unix time), -status, and of them all

A limit that the account does not have gets no header.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from evenkeel_mock.parsing.durations import DAY, HOUR, NS, WEEK, ceil_seconds, rfc3339, span
from evenkeel_mock.quotas.limits import RPM, TPM, AccountLimits, Window
from evenkeel_mock.quotas.windows import Use, uses

if TYPE_CHECKING:
    from collections.abc import Sequence

Header = tuple[str, str]
# The names of limit, remaining and reset, for each of the rates.
OPENAI_NAMES = {
    rate: tuple(f"x-ratelimit-{what}-{counted}" for what in ("limit", "remaining", "reset"))
    for rate, counted in ((RPM, "requests"), (TPM, "tokens"))
}
ANTHROPIC_NAMES = {
    rate: tuple(f"anthropic-ratelimit-{counted}-{what}" for what in ("limit", "remaining", "reset"))
    for rate, counted in ((RPM, "requests"), (TPM, "tokens"))
}
CODEX = ("primary", "secondary")
# How Anthropic calls its quotas; others go by their own names.
LABELS = {5 * HOUR * NS: "5h", DAY * NS: "1d", WEEK * NS: "7d"}


NOT_IN_A_NAME = re.compile(r"[^a-z0-9-]+")


class Dialect(StrEnum):
    """The provider whose format the mock uses."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def of_limits(state: Sequence[int], limits: AccountLimits, now_ns: int, dialect: Dialect) -> list[Header]:
    """Return the headers about an account's limits, of an answer or of a rejection."""
    if not limits.windows:
        return []
    headers: list[Header] = []
    quotas = []
    openai = dialect is Dialect.OPENAI
    names = OPENAI_NAMES if openai else ANTHROPIC_NAMES
    for use in uses(state, limits, now_ns):
        window, _, remaining, ends = use
        if window.name not in names:
            quotas.append(use)
            continue
        limit_name, remaining_name, reset_name = names[window.name]
        headers += (
            (limit_name, str(window.limit)),
            (remaining_name, str(remaining)),
            (reset_name, span(ends - now_ns) if openai else rfc3339(ends)),
        )
    if quotas:
        headers += _codex(quotas, now_ns) if openai else _unified(quotas)
    return headers


def _codex(quotas: list[Use], now_ns: int) -> list[Header]:
    headers: list[Header] = []
    for rank, use in zip(CODEX, sorted(quotas, key=lambda use: use.window.length_ns), strict=False):
        prefix = f"x-codex-{rank}"
        headers += (
            (f"{prefix}-used-percent", str(min(100, 100 * use.used // use.window.limit))),
            (f"{prefix}-window-minutes", str(use.window.length_ns // (60 * NS))),
            (f"{prefix}-reset-after-seconds", str(ceil_seconds(use.ends_ns - now_ns))),
            (f"{prefix}-reset-at", str(ceil_seconds(use.ends_ns))),
        )
    return headers


def _unified(quotas: list[Use]) -> list[Header]:
    headers: list[Header] = []
    # A window that counts requests and one that counts tokens may bear the same label: the fuller one speaks for both.
    fullest: dict[str, Use] = {}
    for use in quotas:
        label = _label(use.window)
        if label not in fullest or _share(use) > _share(fullest[label]):
            fullest[label] = use
    for label, use in fullest.items():
        headers += (
            (f"anthropic-ratelimit-unified-{label}-status", _status(use)),
            (f"anthropic-ratelimit-unified-{label}-utilization", f"{_share(use):.4g}"),
            (f"anthropic-ratelimit-unified-{label}-reset", str(ceil_seconds(use.ends_ns))),
        )
    # Where several are used up, the account is back when the last of them is.
    leading = max(quotas, key=lambda use: (use.remaining == 0, use.ends_ns if not use.remaining else 0, _share(use)))
    headers += (
        ("anthropic-ratelimit-unified-status", _status(leading)),
        ("anthropic-ratelimit-unified-reset", str(ceil_seconds(leading.ends_ns))),
    )
    return headers


def _label(window: Window) -> str:
    return LABELS.get(window.length_ns) or NOT_IN_A_NAME.sub("-", window.name.lower())


def _share(use: Use) -> float:
    return use.used / use.window.limit


def _status(use: Use) -> str:
    return "allowed" if use.remaining else "rejected"
