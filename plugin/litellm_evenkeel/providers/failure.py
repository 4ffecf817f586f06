"""What a provider's refusal can mean, and how far it reaches."""

from __future__ import annotations

from enum import StrEnum


class FailureKind(StrEnum):
    """What went wrong, the gravest first: where several seem to hold, the first of them does."""

    PERMANENT = "permanent"
    """Waiting does not help: a bad key, a disabled account, an unpaid bill, a model that the account does not have."""
    QUOTA = "quota"
    """What was bought or granted for a long while is used up: a day's, a subscription's window, a balance."""
    RATE_LIMIT = "rate limit"
    """Too much at once; it passes in seconds or minutes."""
    OVERLOADED = "overloaded"
    """The provider has too much to do; other accounts may fare no better."""
    TRANSIENT = "transient"
    """A fault of the moment: a broken connection, a timeout, a server's error."""
    CLIENT = "client"
    """The request itself is at fault, and would be with any account."""


class FailureScope(StrEnum):
    """What is to be left alone."""

    ACCOUNT = "account"
    ACCOUNT_MODEL = "account and model"
    NOTHING = "nothing"
