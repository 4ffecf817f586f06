"""The account-rotation router: which account answers a request, and what is learned from how it went."""

from __future__ import annotations

from litellm_evenkeel.rotation.limit_headers import LimitReading, parse_limit_headers
from litellm_evenkeel.rotation.resets import until_reset
from litellm_evenkeel.rotation.signals import Failure, FailureKind, FailureScope, clamp_retry_after, classify

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
