"""State that workers and replicas share: what is held, what is used of limits, how many requests are under way."""

from __future__ import annotations

from litellm_evenkeel.rotation.shared.counts import SharingCounts
from litellm_evenkeel.rotation.shared.hub import QuotaCoordinator
from litellm_evenkeel.rotation.shared.opening import open_coordinator
from litellm_evenkeel.rotation.shared.terms import CoordinatorSettings

__all__ = ["CoordinatorSettings", "QuotaCoordinator", "SharingCounts", "open_coordinator"]
