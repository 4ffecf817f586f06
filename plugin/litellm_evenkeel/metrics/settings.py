"""Settings of the Prometheus callback. Each has a default."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read by annotation
from enum import StrEnum
from typing import ClassVar

from litellm_evenkeel.settings_schema.types import Count, PositiveDuration, SettingsModel


class Ablation(StrEnum):
    """Behaviours of LiteLLM's callback to restore, or parts of the work to omit, in order to measure their cost."""

    OFF = "off"
    EARLY_RETURN = "early_return"
    SKIP_UPDATES = "skip_updates"
    SKIP_BUDGETS = "skip_budgets"
    SEQUENTIAL_LOOKUPS = "sequential_lookups"
    CHECK_DB_ONLY = "check_db_only"
    BACKGROUND_TASK = "background_task"


class MetricsSettings(SettingsModel):
    """Settings under `metrics`."""

    RENAMED: ClassVar[Mapping[str, str]] = {
        "flush_every": "flush_interval",
        "most_waiting": "queue_size",
        "most_end_users": "max_end_users",
        "most_client_ips": "max_client_ips",
        "most_user_agents": "max_user_agents",
        "idle": "label_idle_ttl",
    }

    flush_interval: PositiveDuration = 1.0
    """Maximum time until an event is counted. A scrape counts all waiting events before it responds."""
    queue_size: Count = 50_000
    """Maximum number of events that wait to be counted. Further ones are dropped, and counted as dropped."""
    max_end_users: Count = 100
    """Maximum number of end users with series of their own. Further ones are counted together, as `other`."""
    max_client_ips: Count = 100
    """The same maximum for clients' IP addresses."""
    max_user_agents: Count = 50
    """The same maximum for clients' user agents."""
    label_idle_ttl: PositiveDuration = 600.0
    """Time without a request after which an end user, IP address or user agent may be replaced by another."""
    ablation: Ablation = Ablation.OFF
    """For investigations only: restores a behaviour of LiteLLM's callback, or omits a part of the work. A critical
    message at the start says so. Never set it in production."""
