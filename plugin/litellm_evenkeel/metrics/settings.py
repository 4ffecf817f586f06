"""Settings of the Prometheus callback. Each has a default."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from litellm_evenkeel.settings_schema.types import Count, Period  # noqa: TC001 - read by annotation


class Ablation(StrEnum):
    """Behaviours of LiteLLM's callback to restore, or parts of the work to omit, in order to measure their cost."""

    OFF = "off"
    EARLY_RETURN = "early_return"
    SKIP_UPDATES = "skip_updates"
    SKIP_BUDGETS = "skip_budgets"
    SEQUENTIAL_LOOKUPS = "sequential_lookups"
    CHECK_DB_ONLY = "check_db_only"
    BACKGROUND_TASK = "background_task"


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """Settings under `metrics`."""

    flush_every: Period = 1.0
    """Maximum time until an event is counted. A scrape counts all waiting events before it responds."""
    most_waiting: Count = 50_000
    """Maximum number of events that wait to be counted. Further ones are dropped, and counted as dropped."""
    most_end_users: Count = 100
    """Maximum number of end users with series of their own. Further ones are counted together, as `other`."""
    most_client_ips: Count = 100
    """The same maximum for clients' IP addresses."""
    most_user_agents: Count = 50
    """The same maximum for clients' user agents."""
    idle: Period = 600.0
    """Time without a request after which an end user, IP address or user agent may be replaced by another."""
    ablation: Ablation = Ablation.OFF
    """For investigations only: restores a behaviour of LiteLLM's callback, or omits a part of the work. A critical
    message at the start says so. Never set it in production."""
