"""Account rotation: picks the account for each request, and learns from the outcome of each attempt."""

from __future__ import annotations

from litellm_evenkeel.providers.classifier import Failure, FailureKind, FailureScope, clamp_retry_after, classify
from litellm_evenkeel.providers.limit_headers import LimitReading, parse_limit_headers
from litellm_evenkeel.providers.retry_after import until_reset

__all__ = [
    "Failure",
    "FailureKind",
    "FailureScope",
    "LimitReading",
    "clamp_retry_after",
    "classify",
    "parse_limit_headers",
    "until_reset",
]
