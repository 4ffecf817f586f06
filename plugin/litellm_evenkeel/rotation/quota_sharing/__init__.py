"""State that workers and replicas share: cooldowns, usage of limits, and requests in flight."""

from __future__ import annotations

from litellm_evenkeel.rotation.quota_sharing.coordinator import QuotaCoordinator, open_coordinator
from litellm_evenkeel.rotation.quota_sharing.protocol import SharingCounts
from litellm_evenkeel.rotation.settings import CoordinatorSettings

__all__ = ["CoordinatorSettings", "QuotaCoordinator", "SharingCounts", "open_coordinator"]
