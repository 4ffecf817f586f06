"""Tables that classify failures. Each rule has a name, a kind, a scope and what it matches.

The tables are consulted in this order, and the first rule that matches applies. Each table goes from the most to the
least serious kind.

    CODES            codes and types that alone identify the failure
    LITELLM_CLASSES  exception classes of LiteLLM for requests that it rejects itself
    (then: an exhausted subscription window in the headers, where a rate limit is reported)
    MESSAGES         how a provider's message *begins*, where its code covers several failures. Never words in its
                     middle: a message may quote the user there
    GENERIC_CODES    codes and types that only name a family of failures
    STATUSES         HTTP statuses
    CLASSES          exception classes of LiteLLM and of HTTP clients, where there is no status; before STATUSES where
                     LiteLLM invented the status
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from litellm_evenkeel.providers import error_codes, error_messages
from litellm_evenkeel.providers.error_body import BLOCK_PAGE, FLAGGED
from litellm_evenkeel.providers.failure import FailureKind, FailureScope

_PERMANENT, _QUOTA, _RATE_LIMIT = FailureKind.PERMANENT, FailureKind.QUOTA, FailureKind.RATE_LIMIT
_OVERLOADED, _TRANSIENT, _CLIENT = FailureKind.OVERLOADED, FailureKind.TRANSIENT, FailureKind.CLIENT
_ACCOUNT, _MODEL, _NOTHING = FailureScope.ACCOUNT, FailureScope.ACCOUNT_MODEL, FailureScope.NOTHING


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it matches, and the failure that it means."""

    name: str
    """Reason of the failure; never text of a body."""
    kind: FailureKind
    scope: FailureScope
    matches: tuple[str | int, ...] = ()
    """Codes, classes or statuses; or patterns of the beginning of a message."""
    statuses: frozenset[int | None] = frozenset()
    """Statuses with which the rule applies; any if empty."""
    is_certain: bool = True
    """Whether one such failure is proof. A 403, for example, may concern one request only."""


class Table:
    """Ordered rules, indexed by what they match."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules
        self._index = {key: (position, rule) for position, rule in enumerate(rules) for key in rule.matches}

    def first(self, keys: frozenset[str] | tuple[str | int, ...], status: int | None) -> Rule | None:
        """Return the first rule that matches one of `keys` and applies to `status`; `None` if none does."""
        first: tuple[int, Rule] | None = None
        for key in keys:
            match = self._index.get(key)
            if match is None or (first is not None and match[0] >= first[0]):
                continue
            if not match[1].statuses or status in match[1].statuses:
                first = match
        return first[1] if first else None


def _with(*statuses: int) -> frozenset[int | None]:
    """Return `statuses` and `None`: a failure without a status does not contradict a rule."""
    return frozenset({None, *statuses})


_FAULT_STATUSES = (407, 408, 409, 421, 423, 424, 425, *({*range(500, 600)} - {503, 529}))
_CLIENT_STATUSES = tuple(status for status in range(400, 500) if status not in {401, 402, 403, 429, *_FAULT_STATUSES})

CODES = Table(
    Rule("key not valid", _PERMANENT, _ACCOUNT, error_codes.KEY_NOT_VALID),
    Rule("credential expired", _PERMANENT, _ACCOUNT, error_codes.CREDENTIAL_EXPIRED),
    Rule("account disabled", _PERMANENT, _ACCOUNT, error_codes.ACCOUNT_DISABLED),
    Rule("not paid", _PERMANENT, _ACCOUNT, error_codes.NOT_PAID),
    Rule("not from here", _PERMANENT, _ACCOUNT, error_codes.NOT_FROM_HERE),
    Rule("model not available", _PERMANENT, _MODEL, error_codes.MODEL_NOT_AVAILABLE),
    Rule("usage limit of a plan", _QUOTA, _ACCOUNT, error_codes.USAGE_LIMIT_OF_A_PLAN),
    Rule("quota used up", _QUOTA, _ACCOUNT, error_codes.QUOTA_USED_UP),
    Rule("quota of a model's day used up", _QUOTA, _MODEL, ("<quota/day/model>",)),
    Rule("rate limit of an account", _RATE_LIMIT, _ACCOUNT, ("<quota/minute>",)),
    Rule("rate limit of a model", _RATE_LIMIT, _MODEL, ("<quota/minute/model>",)),
    Rule("model overloaded", _OVERLOADED, _MODEL, error_codes.MODEL_OVERLOADED),
    Rule("model failed", _TRANSIENT, _MODEL, error_codes.MODEL_FAILED),
    Rule("request too long", _CLIENT, _NOTHING, error_codes.REQUEST_TOO_LONG),
    Rule("content refused", _CLIENT, _NOTHING, (FLAGGED, *error_codes.CONTENT_REFUSED)),
    Rule("parameter refused", _CLIENT, _NOTHING, error_codes.PARAMETER_REFUSED),
)

LITELLM_CLASSES = Table(
    Rule("refused by LiteLLM", _CLIENT, _NOTHING, error_codes.REFUSED_BY_LITELLM),
    Rule("found at fault by LiteLLM", _CLIENT, _NOTHING, error_codes.FOUND_AT_FAULT_BY_LITELLM),
    Rule("client went away", _CLIENT, _NOTHING, error_codes.CLIENT_WENT_AWAY),
)

SUBSCRIPTION_EXHAUSTED = Rule("subscription window used up", _QUOTA, _ACCOUNT)
"""Found in headers: a window of an Anthropic or ChatGPT subscription is exhausted."""
SUBSCRIPTION_EXHAUSTED_FOR_MODEL = Rule("subscription window of a model used up", _QUOTA, _MODEL)
"""The same for a window that counts only some models, such as `7d_opus`."""

MESSAGES = (
    Rule("says: bad key", _PERMANENT, _ACCOUNT, error_messages.BAD_KEY, _with(400, 401, 403, 500)),
    Rule("says: account disabled", _PERMANENT, _ACCOUNT, error_messages.ACCOUNT_DISABLED),
    Rule("says: not paid", _PERMANENT, _ACCOUNT, error_messages.NOT_PAID),
    Rule("says: not from here", _PERMANENT, _ACCOUNT, error_messages.NOT_FROM_HERE),
    Rule("says: no such model", _PERMANENT, _MODEL, error_messages.NO_SUCH_MODEL, _with(400, 403, 404)),
    Rule("says: not allowed", _PERMANENT, _ACCOUNT, error_messages.NOT_ALLOWED, _with(401, 403), is_certain=False),
    Rule("says: quota of a day", _QUOTA, _MODEL, error_messages.QUOTA_OF_A_DAY),
    Rule("says: too few credits", _QUOTA, _MODEL, error_messages.TOO_FEW_CREDITS),
    Rule("says: quota", _QUOTA, _ACCOUNT, error_messages.QUOTA),
    Rule("says: account's rate limit", _RATE_LIMIT, _ACCOUNT, error_messages.ACCOUNTS_RATE_LIMIT),
    Rule("says: rate limit", _RATE_LIMIT, _MODEL, error_messages.RATE_LIMIT, _with(403, 429, 500, 503)),
    Rule("says: overloaded", _OVERLOADED, _MODEL, error_messages.OVERLOADED, _with(429, 500, 502, 503, 529)),
    Rule("says: larger than the limit", _CLIENT, _NOTHING, error_messages.LARGER_THAN_THE_LIMIT),
    Rule("says: too long", _CLIENT, _NOTHING, error_messages.TOO_LONG),
    Rule("says: content refused", _CLIENT, _NOTHING, error_messages.CONTENT_REFUSED),
    Rule("says: bad request", _CLIENT, _NOTHING, error_messages.BAD_REQUEST),
)
PATTERNS = tuple(
    (rule, re.compile("|".join(f"(?:{pattern})" for pattern in rule.matches), re.IGNORECASE | re.DOTALL))
    for rule in MESSAGES
)

GENERIC_CODES = Table(
    # A firewall in front of the provider, such as Cloudflare's, knows nothing about the account.
    Rule("page of a firewall", _TRANSIENT, _ACCOUNT, (BLOCK_PAGE,), frozenset({403})),
    Rule("type: authentication", _PERMANENT, _ACCOUNT, error_codes.LABELLED_AUTHENTICATION),
    Rule("type: permission", _PERMANENT, _ACCOUNT, error_codes.LABELLED_PERMISSION, is_certain=False),
    Rule("type: rate limit", _RATE_LIMIT, _MODEL, error_codes.LABELLED_RATE_LIMIT),
    Rule("type: unavailable", _OVERLOADED, _MODEL, error_codes.LABELLED_UNAVAILABLE),
    Rule("type: server error", _TRANSIENT, _MODEL, error_codes.LABELLED_SERVER_ERROR),
    # Any other status tells more than these types: OpenAI's 401 is of type "invalid request" as well.
    Rule(
        "type: bad request",
        _CLIENT,
        _NOTHING,
        error_codes.LABELLED_BAD_REQUEST,
        _with(400, 404, 405, 413, 415, 422, 429, 500),
    ),
)

STATUSES = Table(
    Rule("status: bad key", _PERMANENT, _ACCOUNT, (401,)),
    Rule("status: not paid", _PERMANENT, _ACCOUNT, (402,)),
    Rule("status: forbidden", _PERMANENT, _ACCOUNT, (403,), is_certain=False),
    Rule("status: rate limit", _RATE_LIMIT, _MODEL, (429,)),
    Rule("status: overloaded", _OVERLOADED, _MODEL, (503, 529)),
    Rule("status: fault", _TRANSIENT, _MODEL, _FAULT_STATUSES),
    Rule("status: bad request", _CLIENT, _NOTHING, _CLIENT_STATUSES),
)

CLASSES = Table(
    Rule("class: bad key", _PERMANENT, _ACCOUNT, ("AuthenticationError",)),
    Rule("class: not paid", _PERMANENT, _ACCOUNT, ("PaymentRequiredError",)),
    Rule("class: forbidden", _PERMANENT, _ACCOUNT, ("PermissionDeniedError",), is_certain=False),
    Rule("class: rate limit", _RATE_LIMIT, _MODEL, ("RateLimitError",)),
    Rule("class: overloaded", _OVERLOADED, _MODEL, ("ServiceUnavailableError",)),
    Rule("class: connection", _TRANSIENT, _MODEL, error_codes.CONNECTION),
    Rule("class: fault", _TRANSIENT, _MODEL, error_codes.FAULT),
    Rule("class: bad request", _CLIENT, _NOTHING, error_codes.BAD_REQUEST),
)

UNKNOWN = Rule("nothing is known", _TRANSIENT, _MODEL)
