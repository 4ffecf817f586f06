"""Settings of the Prometheus callback. Each has a default."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read by annotation
from typing import ClassVar

from litellm_evenkeel.settings_schema.types import Count, PositiveDuration, SettingsModel


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
