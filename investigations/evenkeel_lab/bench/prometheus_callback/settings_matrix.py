"""The settings of LiteLLM under which the two callbacks are compared, as in a proxy's YAML."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUPS: Final = [
    {
        "group": "tokens",
        "metrics": ["litellm_total_tokens_metric", "litellm_input_tokens_metric", "litellm_output_tokens_metric"],
        "include_labels": ["team", "model", "user"],
    },
    {
        "group": "requests",
        "metrics": ["litellm_proxy_total_requests_metric"],
        "include_labels": ["requested_model", "status_code", "hashed_api_key"],
    },
    {
        "group": "failures",
        "metrics": ["litellm_proxy_failed_requests_metric", "litellm_deployment_failure_responses"],
        "include_labels": ["requested_model", "exception_class"],
    },
    {"group": "latency", "metrics": ["litellm_request_total_latency_metric"], "include_labels": ["model", "team"]},
    {"group": "whole", "metrics": ["litellm_spend_metric", "litellm_remaining_team_budget_metric"]},
]

SHORT_LIVES: Final = {"prometheus_metrics_ttl_seconds": 20.0}
OF_END_USERS: Final = "prometheus_end_user_metrics"
END_USERS: Final = {"enable_end_user_cost_tracking_prometheus_only": True, f"{OF_END_USERS}_ttl_seconds": 20.0}

MATRIX: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "none": {},
        "groups": {"prometheus_metrics_config": GROUPS},
        "excluded": {
            "prometheus_exclude_metrics": ["litellm_llm_api_latency_metric", "litellm_requests_metric"],
            "prometheus_exclude_labels": ["client_ip", "user_agent", "api_base"],
        },
        "custom labels": {"custom_prometheus_metadata_labels": ["metadata.department", "metadata.ship", "deep.hold"]},
        "tags": {"custom_prometheus_tags": ["blue", "deck-*", "User-Agent: *"]},
        "email and alias": {"prometheus_user_budget_label_include_email_alias": True},
        "stream": {"prometheus_emit_stream_label": True},
        "rate limits": {"prometheus_emit_rate_limit_labels": True},
        "end users": {"enable_end_user_cost_tracking_prometheus_only": True},
        "caller identity": {"prometheus_deployment_and_latency_caller_identity": "both"},
        "buckets": {"prometheus_latency_buckets": [0.1, 1.0, 10.0]},
        "sequence length": {"prometheus_emit_input_sequence_length_label": True},
        "few series": {"prometheus_metrics_max_series_per_metric": 15},
        "short lives, always looked at": {**SHORT_LIVES, "prometheus_metrics_cleanup_interval_seconds": 0},
        "short lives, looked at without a pause": {**SHORT_LIVES, "prometheus_metrics_cleanup_interval_seconds": None},
        "short lives, rarely looked at": {**SHORT_LIVES, "prometheus_metrics_cleanup_interval_seconds": 3600},
        "end users' short lives, always looked at": {**END_USERS, f"{OF_END_USERS}_cleanup_interval_seconds": 0},
        "end users' short lives, looked at without a pause": {
            **END_USERS,
            f"{OF_END_USERS}_cleanup_interval_seconds": None,
        },
        "end users' short lives, rarely looked at": {**END_USERS, f"{OF_END_USERS}_cleanup_interval_seconds": 3600},
        "several workers": {},
        "few series, several workers": {"prometheus_metrics_max_series_per_metric": 15},
        "many end users": {"enable_end_user_cost_tracking_prometheus_only": True},
        "limits of the router": {},
        "buckets out of order": {"prometheus_latency_buckets": [1.0, 0.1, 10.0]},
        "no buckets": {"prometheus_latency_buckets": []},
        "a label that is taken": {"custom_prometheus_metadata_labels": ["le"]},
        "many": {
            "custom_prometheus_metadata_labels": ["metadata.department"],
            "custom_prometheus_tags": ["blue"],
            "prometheus_exclude_labels": ["user_agent"],
            "prometheus_emit_stream_label": True,
            "prometheus_user_budget_label_include_email_alias": True,
            "enable_end_user_cost_tracking_prometheus_only": True,
        },
    }
)
"""The settings by name."""


@dataclass(frozen=True)
class Circumstances:
    """The conditions of a replay besides LiteLLM's settings."""

    seconds_pass: float = 0.0
    """The seconds by which the clock moves after half of the events."""
    end_users: int = 8
    """The number of end users made from each recorded one."""
    several_workers: bool = False
    router_limits: bool = False
    """Whether the router's models have limits, so that the router states what remains of them."""


# Both exceed the 20 seconds that such series live. Only the second exceeds the default interval of LiteLLM's cleanup.
BRIEFLY, LONG = Circumstances(seconds_pass=30.0), Circumstances(seconds_pass=90.0)
CIRCUMSTANCES: Final[Mapping[str, Circumstances]] = MappingProxyType(
    {
        "short lives, always looked at": BRIEFLY,
        "short lives, looked at without a pause": BRIEFLY,
        "short lives, rarely looked at": LONG,
        "end users' short lives, always looked at": BRIEFLY,
        "end users' short lives, looked at without a pause": BRIEFLY,
        "end users' short lives, rarely looked at": LONG,
        "several workers": Circumstances(several_workers=True),
        "few series, several workers": Circumstances(several_workers=True),
        "many end users": Circumstances(end_users=150),
        "limits of the router": Circumstances(router_limits=True),
    }
)
"""The circumstances by the name of settings; the other settings have the defaults."""
OF_EACH_VERSION: Final = ("none", "many", "few series", "several workers")
"""The settings under which every version of LiteLLM is compared."""
