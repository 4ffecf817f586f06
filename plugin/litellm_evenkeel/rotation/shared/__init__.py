"""State that workers and replicas share: what is held, what is used of limits, how many requests are under way."""

from __future__ import annotations

from litellm_evenkeel.rotation.shared.counts import SharedCounts
from litellm_evenkeel.rotation.shared.hub import Shared
from litellm_evenkeel.rotation.shared.opening import opened
from litellm_evenkeel.rotation.shared.terms import Sharing

__all__ = ["Shared", "SharedCounts", "Sharing", "opened"]
