"""LiteLLM's own functions that read an event for its Prometheus metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations import prometheus as upstream
from litellm.integrations.prometheus import (
    PrometheusLogger,
    _get_combined_custom_metadata_from_standard_logging_payload as combined_metadata,
)

from litellm_evenkeel.metrics.registry.label_limits import OTHER
from litellm_evenkeel.metrics.replay.event_facts import LiteLLMReaders, Raw

if TYPE_CHECKING:
    from collections.abc import Callable

    from litellm_evenkeel.metrics.registry.label_limits import LabelLimits

# These two were private until LiteLLM 1.106.
clean_label = getattr(upstream, "sanitize_prometheus_label_value", None) or upstream._sanitize_prometheus_label_value  # noqa: SLF001
end_user_getter = (
    getattr(upstream, "get_cached_end_user_id_for_cost_tracking", None)
    or upstream._get_cached_end_user_id_for_cost_tracking  # noqa: SLF001
)


def litellm_readers(
    label_limits: LabelLimits,
    *,
    skips: Callable[[Raw], bool],
    prompt_length_class: Callable[[Raw, Raw, object], Any] | None,
) -> LiteLLMReaders:
    """Return LiteLLM's functions that read an event, with bounded label values, and two methods of the callback."""

    def bound_value(name: str, value: Any) -> Any:
        # Families see the cleaned value. If the original were limited too, one value would count twice.
        return OTHER if value is not None and label_limits.bound(name, clean_label(value)) == OTHER else value

    end_user = end_user_getter()
    return LiteLLMReaders(
        end_user=lambda params: end_user(params, service_type="prometheus"),
        bound_value=bound_value,
        tier=upstream.get_service_tier_from_standard_logging_payload,
        skips=skips,
        guardrail_seconds=PrometheusLogger._get_guardrail_overhead_seconds,  # noqa: SLF001 - the same function that its own code calls
        custom_labels=_custom_labels if litellm.custom_prometheus_metadata_labels else None,
        tag_labels=tag_labels if litellm.custom_prometheus_tags else None,
        has_stream_label=bool(litellm.prometheus_emit_stream_label),
        prompt_length_class=prompt_length_class,
    )


def _custom_labels(payload: Raw) -> tuple[tuple[str, str], ...]:
    combined = combined_metadata(standard_logging_payload=payload)
    return tuple(upstream.get_custom_labels_from_metadata(metadata=combined).items())


def tag_labels(tags: Any) -> tuple[tuple[str, str], ...]:
    """Return the labels of custom tags, as LiteLLM makes them of a request's tags."""
    return tuple(upstream.get_custom_labels_from_tags(tags or ()).items())
