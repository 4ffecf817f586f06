"""Classification of failed attempts: kind, scope and retry-after.

`classify` looks a failure up in the tables of `rules`; no text of a body ever leaves it. Two misclassifications are the
most harmful: a cooldown of an account for a client's fault, which lets any client take accounts away from all others,
and further use of an account that is disabled. Therefore codes come first, messages are matched at their beginning
only, and statuses come last, as LiteLLM invents some of them: an OpenAI 401 of type `invalid_request_error` arrives as
a 400, an Anthropic 529 as a 500, and a 400 that quotes the words "rate limit" as a 429.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from litellm_evenkeel.providers import retry_after, rules
from litellm_evenkeel.providers.error_body import ErrorBody, normalize_code, parse_error_body
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.providers.limit_headers import exhausted_subscriptions, normalize_headers, parse_limit_headers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from litellm_evenkeel.providers.limit_headers import LimitReading, NormalizedHeaders

__all__ = ["Failure", "FailureKind", "FailureScope", "clamp_retry_after", "classify"]

LONGEST_RATE_LIMIT = 30 * 60.0
LONGEST_QUOTA = 8 * 86400.0
"""A week, the longest quota window, and a day for clocks that disagree."""
MAX_PLAUSIBLE_SECONDS = 400 * 86400.0
"""No provider asks for a longer wait; a larger number is in another unit than seconds."""

_MIN_ERROR_STATUS, _MAX_ERROR_STATUS = 400, 599
_TOO_MANY_REQUESTS = 429
_MAX_MESSAGE_CHARACTERS = 600
_MAX_CLASS_NAMES = 8
# LiteLLM invents these statuses for connections that returned none, so its exception classes are more precise.
_INVENTED_STATUSES = frozenset({None, 408, 500, 503})


@dataclass(frozen=True, slots=True)
class Failure:
    """Classified failure of an attempt."""

    kind: FailureKind
    scope: FailureScope
    retry_after: float | None
    """Seconds that the provider asks to wait, unbounded (see `clamp_retry_after`); `None` if it states none."""
    reason: str
    """Name of the rule that matched; never text that a provider or a user wrote."""
    is_certain: bool = True
    """Whether one such failure is proof. If not, only several consecutive ones are, of several clients or over a long
    time."""


class OperatorRule(Protocol):
    """A rule that an operator wrote."""

    @property
    def kind(self) -> FailureKind:
        """Kind of the failure."""

    @property
    def applied_scope(self) -> FailureScope:
        """Scope of the failure."""

    @property
    def retry_after(self) -> float | None:
        """Length of the cooldown in seconds; `None` for what the provider states."""

    def matches(self, status: int | None, body: ErrorBody) -> bool:
        """Return whether the rule applies to a failure."""


def classify(
    status: int | None,
    body: object,
    headers: Mapping[Any, Any] | None,
    exception: str | Iterable[str] | None,
    *,
    now: float,
    operator_rules: Sequence[OperatorRule] = (),
) -> Failure:
    """Classify a failed attempt. No input makes this raise.

    `body` is the original text, the text as LiteLLM wrapped it, or parsed JSON. `exception` is the name of the
    exception's class, or several names. `now` is in seconds since 1970. `operator_rules` take precedence over all
    others.
    """
    error_body = parse_error_body(body)
    fields = normalize_headers(headers)
    limits = parse_limit_headers(fields, now=now)
    stated = _status(status, error_body)
    for number, operator_rule in enumerate(operator_rules, 1):
        if operator_rule.matches(stated, error_body):
            seconds = operator_rule.retry_after
            if seconds is None:
                seconds = _retry_after(operator_rule.kind, fields, limits, error_body, now)
            return Failure(operator_rule.kind, operator_rule.applied_scope, seconds, f"operator's rule {number}")
    rule = _rule(error_body, stated, fields, limits, _class_names(exception, error_body))
    seconds = _retry_after(rule.kind, fields, limits, error_body, now)
    return Failure(rule.kind, rule.scope, seconds, rule.name, rule.is_certain)


def clamp_retry_after(
    seconds: float | None,
    kind: FailureKind,
    *,
    rate_limit: float = LONGEST_RATE_LIMIT,
    quota: float = LONGEST_QUOTA,
) -> float | None:
    """Return a plausible retry-after in seconds, bounded by `quota` or `rate_limit`; `None` if there is none."""
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds <= MAX_PLAUSIBLE_SECONDS:
        return None
    if kind in {FailureKind.PERMANENT, FailureKind.CLIENT}:
        return None
    return min(seconds, quota if kind is FailureKind.QUOTA else rate_limit)


def _rule(
    body: ErrorBody,
    status: int | None,
    fields: NormalizedHeaders,
    limits: tuple[LimitReading, ...],
    names: tuple[str, ...],
) -> rules.Rule:
    """Return the first rule of the tables that matches."""
    codes = body.codes
    if "x-amzn-errortype" in fields:
        codes |= {normalize_code(fields["x-amzn-errortype"])}
    rule = rules.CODES.first(codes, status) or rules.LITELLM_CLASSES.first(names, status)
    if rule:
        return rule
    generic = rules.GENERIC_CODES.first(codes, status)
    if status == _TOO_MANY_REQUESTS or (generic and generic.kind is FailureKind.RATE_LIMIT):
        rule = _exhausted_subscription(limits)
    rule = rule or _by_message(body.message, status) or generic
    if rule:
        return rule
    by_status = rules.STATUSES.first((status,), status) if status else None
    by_class = rules.CLASSES.first(names, status)
    return (by_class or by_status if status in _INVENTED_STATUSES else by_status or by_class) or rules.UNKNOWN


def _exhausted_subscription(limits: tuple[LimitReading, ...]) -> rules.Rule | None:
    names = [reading.dimension for reading in exhausted_subscriptions(limits)]
    # "unified" only states that some window is exhausted; the other readings name it.
    windows = [name for name in names if name != "unified"] or names
    if not windows:
        return None
    # "5h" and "7d" hold for the account; "7d_opus", or a name between "codex" and "primary", only for some models.
    only_some_models = all("_" in name or name.count("-") > 1 for name in windows)
    return rules.SUBSCRIPTION_EXHAUSTED_FOR_MODEL if only_some_models else rules.SUBSCRIPTION_EXHAUSTED


def _by_message(message: str, status: int | None) -> rules.Rule | None:
    beginning = message[:_MAX_MESSAGE_CHARACTERS]
    for rule, pattern in rules.PATTERNS if beginning else ():
        if (not rule.statuses or status in rule.statuses) and pattern.match(beginning):
            return rule
    return None


def _retry_after(
    kind: FailureKind, fields: NormalizedHeaders, limits: tuple[LimitReading, ...], body: ErrorBody, now: float
) -> float | None:
    if kind in {FailureKind.PERMANENT, FailureKind.CLIENT}:
        return None
    if kind in {FailureKind.QUOTA, FailureKind.RATE_LIMIT}:
        return retry_after.until_reset(fields, limits, body.tree, body.message, now=now)
    # An overload or a fault does not depend on the account's quota windows.
    return retry_after.retry_after(fields, body.tree, body.message, now=now)


def _status(status: object, body: ErrorBody) -> int | None:
    """Return the status that the provider's body states, else `status`; `None` if neither is that of an error."""
    if body.status is not None:
        return body.status
    if isinstance(status, int) and _MIN_ERROR_STATUS <= status <= _MAX_ERROR_STATUS:
        return int(status)
    return None


def _class_names(exception: object, body: ErrorBody) -> tuple[str, ...]:
    if isinstance(exception, str):
        return (exception.rpartition(".")[2], *body.names)
    if isinstance(exception, Iterable):
        given = (name.rpartition(".")[2] for name in islice(exception, _MAX_CLASS_NAMES) if isinstance(name, str))
        return (*given, *body.names)
    return body.names
