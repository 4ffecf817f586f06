"""The account-rotation router: which account answers a request, and what is learned from how it went."""

from __future__ import annotations

from litellm_evenkeel.rotation.limit_headers import Reading, readings
from litellm_evenkeel.rotation.resets import until_reset
from litellm_evenkeel.rotation.signals import Kind, Scope, Signal, clamped, classify

__all__ = ["Kind", "Reading", "Scope", "Signal", "clamped", "classify", "readings", "until_reset"]
