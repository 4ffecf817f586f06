"""What an operator may decide about the Prometheus callback. Whatever is not told has a default that works."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from litellm_evenkeel.settings_schema.types import Count, Period  # noqa: TC001 - read by annotation


class Ablation(StrEnum):
    """What LiteLLM's callback once did, or a part of it left out: to find out what costs how much."""

    OFF = "off"
    EARLY_RETURN = "early_return"
    SKIP_UPDATES = "skip_updates"
    SKIP_BUDGETS = "skip_budgets"
    SEQUENTIAL_LOOKUPS = "sequential_lookups"
    CHECK_DB_ONLY = "check_db_only"
    BACKGROUND_TASK = "background_task"


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """All of it."""

    flush_every: Period = 1.0
    """How long an event may wait to be counted; a scrape counts all that wait before it answers."""
    most_waiting: Count = 50_000
    """How many events may wait; beyond it, events are dropped, and counted as such."""
    most_end_users: Count = 100
    """How many end users have series of their own; the others are counted together, as `other`."""
    most_client_ips: Count = 100
    """The same for addresses of clients."""
    most_user_agents: Count = 50
    """The same for what clients call themselves."""
    idle: Period = 600.0
    """After how long without a request one of those makes room for another."""
    ablation: Ablation = Ablation.OFF
    """For investigations only: a behaviour that LiteLLM's callback had, or a part of the work left out. It is announced
    loudly at the start, and no proxy that serves anybody should have it."""
