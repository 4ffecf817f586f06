"""Histogram of the phases of a request in LiteLLM: before the provider call, the call, and after it.

LiteLLM measures them if `LITELLM_DETAILED_TIMING` is on, and passes them on only in the headers of the response.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from litellm_evenkeel.instrumentation.definitions import MetricDefinition, MetricType
from litellm_evenkeel.metrics.registry.series import HistogramSeries
from litellm_evenkeel.metrics.self_metrics import family

if TYPE_CHECKING:
    from litellm_evenkeel.metrics.registry.families import MetricStore

VARIABLE = "LITELLM_DETAILED_TIMING"
FIELDS = {
    "pre_processing": "timing_pre_processing_ms",
    "provider": "timing_llm_api_ms",
    "post_processing": "timing_post_processing_ms",
}
"""Phases, and the hidden parameter of a response in which LiteLLM states the length of each."""

PHASE_SECONDS = MetricDefinition(
    MetricType.HISTOGRAM,
    "request_phase_seconds",
    "Time of responses without streaming in LiteLLM by phase: pre_processing (until the provider is called), provider "
    "(the call), post_processing (the rest). Only with `LITELLM_DETAILED_TIMING=true`.",
    ("phase",),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0),
)


def is_enabled() -> bool:
    """Return whether LiteLLM measures the phases."""
    return os.environ.get(VARIABLE, "").lower() == "true"


class RequestPhases:
    """Counts the phases of each response."""

    def __init__(self, store: MetricStore) -> None:
        self._family = family(store, PHASE_SECONDS)

    def observe(self, response: object) -> None:
        """Count the phases that a response states."""
        parameters = getattr(response, "_hidden_params", None)
        if not isinstance(parameters, dict):
            return
        for phase, field in FIELDS.items():
            milliseconds = parameters.get(field)
            if isinstance(milliseconds, float | int):
                series = self._family.get_or_create((phase,))
                assert isinstance(series, HistogramSeries)
                series.observe(milliseconds / 1000)
