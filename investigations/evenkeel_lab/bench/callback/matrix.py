"""The settings under which the two callbacks are compared: LiteLLM's own, as a proxy's YAML has them."""

from __future__ import annotations

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
"""By name."""
