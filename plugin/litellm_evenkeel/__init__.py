"""A LiteLLM proxy plugin that keeps latency on an even keel."""

from __future__ import annotations

from litellm_evenkeel.compatibility import OLDEST_SUPPORTED, Verdict, judge
from litellm_evenkeel.errors import EvenkeelError, UnsupportedLiteLLM
from litellm_evenkeel.rotation.model.account import Account

__all__ = ["OLDEST_SUPPORTED", "Account", "EvenkeelError", "UnsupportedLiteLLM", "Verdict", "judge"]
