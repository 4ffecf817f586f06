"""What a failed attempt says about an account: its kind, how far it reaches, and until when.

`classify` only looks things up in the tables of `rules`; nothing of a body ever leaves it. The gravest errors to make
are to hold an account for a client's fault, which lets any client take accounts away from all others, and to go on
using one that is dead. So codes are believed first, sentences only by how they begin, and statuses last: LiteLLM makes
some of them up (an OpenAI 401 of type `invalid_request_error` arrives as a 400, an Anthropic 529 as a 500, and a 400
that quotes the words "rate limit" as a 429).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.providers import retry_after, rules
from litellm_evenkeel.providers.error_body import ErrorBody, code, parse_error_body
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.providers.limit_headers import exhausted_subscriptions, parse_limit_headers, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.providers.limit_headers import Fields, LimitReading

__all__ = ["Failure", "FailureKind", "FailureScope", "clamp_retry_after", "classify"]

LONGEST_RATE_LIMIT = 30 * 60.0
LONGEST_QUOTA = 8 * 86400.0
"""A week's window, and a day for clocks that disagree."""
ABSURD = 400 * 86400.0
"""Nobody lets wait for longer than a year; who says so counts in another unit."""

_FIRST_ERROR, _LAST_ERROR = 400, 599
_TOO_MANY = 429
_LONGEST_BEGINNING = 600
_MOST_NAMES = 8
# Statuses of which LiteLLM's classes know more: they stand for connections that gave none.
_MADE_UP = frozenset({None, 408, 500, 503})


@dataclass(frozen=True, slots=True)
class Failure:
    """What a failed attempt says."""

    kind: FailureKind
    scope: FailureScope
    retry_after: float | None
    """What the provider asks to wait, as it said it (`clamped` tells what to believe); None if it said nothing."""
    reason: str
    """The name of the rule that matched; never anything that a provider or a user wrote."""
    is_certain: bool = True
    """Whether it says so by itself; if not, only several in a row do, of several clients or over a long time."""


def classify(
    status: int | None,
    body: object,
    headers: Mapping[Any, Any] | None,
    exception: str | Iterable[str] | None,
    *,
    now: float,
) -> Failure:
    """Say what a failed attempt means.

    The body is text as it came or as LiteLLM wrapped it, or what was parsed already; the exception is the name of its
    class, or several names; now is in seconds since 1970. Nothing that is handed in makes it raise.
    """
    told = parse_error_body(body)
    fields = plain(headers)
    limits = parse_limit_headers(fields, now=now)
    rule = _rule(told, _status(status, told), fields, limits, _names(exception, told))
    return Failure(rule.kind, rule.scope, _seconds(rule.kind, fields, limits, told, now), rule.name, rule.is_certain)


def clamp_retry_after(
    seconds: float | None,
    kind: FailureKind,
    *,
    rate_limit: float = LONGEST_RATE_LIMIT,
    quota: float = LONGEST_QUOTA,
) -> float | None:
    """Return how long to believe what a provider asks for; None where there is nothing to believe."""
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds <= ABSURD:
        return None
    if kind in {FailureKind.PERMANENT, FailureKind.CLIENT}:
        return None
    return min(seconds, quota if kind is FailureKind.QUOTA else rate_limit)


def _rule(
    body: ErrorBody,
    status: int | None,
    fields: Fields,
    limits: tuple[LimitReading, ...],
    names: tuple[str, ...],
) -> rules.Rule:
    """Return the first row of the tables that matches."""
    codes = body.codes
    if "x-amzn-errortype" in fields:
        codes |= {code(fields["x-amzn-errortype"])}
    rule = rules.CODES.first(codes, status) or rules.OWN.first(names, status)
    if rule:
        return rule
    label = rules.LABELS.first(codes, status)
    if status == _TOO_MANY or (label and label.kind is FailureKind.RATE_LIMIT):
        rule = _closed_window(limits)
    rule = rule or _by_words(body.message, status) or label
    if rule:
        return rule
    by_status = rules.STATUSES.first((status,), status) if status else None
    by_class = rules.CLASSES.first(names, status)
    return (by_class or by_status if status in _MADE_UP else by_status or by_class) or rules.UNKNOWN


def _closed_window(limits: tuple[LimitReading, ...]) -> rules.Rule | None:
    names = [one.dimension for one in exhausted_subscriptions(limits)]
    # "unified" only says that some window is closed; which one, the others tell.
    windows = [one for one in names if one != "unified"] or names
    if not windows:
        return None
    # 5h and 7d hold for the account; 7d_opus, or a limit between "codex" and "primary", for some models.
    of_models = all("_" in one or one.count("-") > 1 for one in windows)
    return rules.CLOSED_WINDOW_OF_MODEL if of_models else rules.CLOSED_WINDOW


def _by_words(message: str, status: int | None) -> rules.Rule | None:
    beginning = message[:_LONGEST_BEGINNING]
    if not beginning:
        return None
    return next(
        (
            rule
            for rule, pattern in rules.PATTERNS
            if (not rule.only or status in rule.only) and pattern.match(beginning)
        ),
        None,
    )


def _seconds(
    kind: FailureKind, fields: Fields, limits: tuple[LimitReading, ...], body: ErrorBody, now: float
) -> float | None:
    if kind in {FailureKind.PERMANENT, FailureKind.CLIENT}:
        return None
    if kind in {FailureKind.QUOTA, FailureKind.RATE_LIMIT}:
        return retry_after.reset_after(fields, limits, body.tree, body.message, now=now)
    # An overload or a fault has nothing to do with how full the account's windows are.
    return retry_after.retry_after(fields, body.tree, body.message, now=now)


def _status(status: object, body: ErrorBody) -> int | None:
    """Return the status that the provider's body names, else the one that was given."""
    if body.status is not None:
        return body.status
    if isinstance(status, int) and _FIRST_ERROR <= status <= _LAST_ERROR:
        return int(status)
    return None


def _names(exception: object, body: ErrorBody) -> tuple[str, ...]:
    if isinstance(exception, str):
        return (exception.rpartition(".")[2], *body.names)
    if isinstance(exception, Iterable):
        given = (one.rpartition(".")[2] for one in islice(exception, _MOST_NAMES) if isinstance(one, str))
        return (*given, *body.names)
    return body.names
