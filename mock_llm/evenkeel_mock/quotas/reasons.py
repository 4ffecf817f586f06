"""Reasons of rejections. `rejections` turns them into a provider's response."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Reasons of rejections, permanent ones first."""

    INVALID_KEY = "invalid_key"
    EXPIRED = "expired"
    REVOKED = "revoked"
    MODEL = "model"
    BALANCE = "balance"
    TOO_LARGE = "too_large"
    """More tokens than a whole window holds: no waiting helps."""
    QUOTA = "quota"
    """A window of hours or days is used up."""
    REQUESTS = "requests"
    """The requests of this minute are used up."""
    TOKENS = "tokens"
    """The tokens of this minute do not suffice."""
    CONCURRENCY = "concurrency"
    OVERLOADED = "overloaded"
    FAULT = "fault"
    """Nothing is wrong with the request: the user asked for this status."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejection, with the numbers in its message."""

    reason: Reason
    status: int = 0
    """Another status than the reason's usual one; 0 for the usual."""
    wait_ns: int | None = None
    """Nanoseconds until the same request would be admitted, without other traffic; None if waiting does not help."""
    window: str = ""
    limit: int = 0
    used: int = 0
    requested: int = 0
