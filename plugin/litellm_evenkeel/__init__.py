"""A LiteLLM proxy plugin that keeps latency on an even keel."""

from __future__ import annotations

from litellm_evenkeel.account import Account
from litellm_evenkeel.compatibility import OLDEST_SUPPORTED, Verdict, judge
from litellm_evenkeel.errors import EvenkeelError, UnsupportedLiteLLM

__all__ = ["OLDEST_SUPPORTED", "Account", "EvenkeelError", "UnsupportedLiteLLM", "Verdict", "judge"]
