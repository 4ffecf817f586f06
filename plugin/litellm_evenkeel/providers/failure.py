"""Kinds and scopes of failures."""

from __future__ import annotations

from enum import StrEnum


class FailureKind(StrEnum):
    """Kind of a failure, from the most to the least serious. If several match, the first of them applies."""

    PERMANENT = "permanent"
    """Waiting does not help: an invalid key, a disabled account, an unpaid bill, a model that the account lacks."""
    QUOTA = "quota"
    """A long-term quota is used up: that of a day, a window of a subscription, a balance."""
    RATE_LIMIT = "rate_limit"
    """Too much traffic at once; this passes within seconds or minutes."""
    OVERLOADED = "overloaded"
    """The provider is overloaded, possibly for other accounts as well."""
    TRANSIENT = "transient"
    """A temporary fault: a broken connection, a timeout, a server error."""
    CLIENT = "client"
    """The request itself is invalid, whichever account serves it."""


class FailureScope(StrEnum):
    """Scope of a failure: what takes no traffic because of it."""

    ACCOUNT = "account"
    ACCOUNT_MODEL = "account_model"
    NOTHING = "nothing"
