"""Sentinel copies of events: the same form, with a distinct value for each text and number that a metric may use."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import (
    CACHE_WRITE_FIELDS,
    DEPLOYMENT_FIELDS,
    KEY_REMAINING_HEADER,
    LIMITER_HEADERS,
    NUMBER_TYPES,
    OPTIONAL_METADATA,
    REMAINING_HEADERS,
    REQUIRED_METADATA,
    Raw,
)
from litellm_evenkeel.metrics.replay.update_plan import SENTINEL_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

USAGE_FIELDS = ("duration_seconds", "output_image_count", "cache_read_input_tokens", "cache_creation_input_tokens")
TOKEN_DETAIL_FIELDS = ("cached_tokens", "audio_tokens", "reasoning_tokens", *CACHE_WRITE_FIELDS)
LENGTH_CLASS_KEY = "evenkeel_input_sequence_length"
"""Payload key of the sentinel for the class of the prompt's length, which no sentinel number would yield."""
COST_FIELDS = ("response_cost", "total_tokens", "prompt_tokens", "completion_tokens")
HEADERS = (
    *[name for pair in LIMITER_HEADERS for name in pair],
    *REMAINING_HEADERS,
    f"{KEY_REMAINING_HEADER}requests",
    f"{KEY_REMAINING_HEADER}tokens",
)
# Seconds, ascending, with a different distance between any two, so that a duration identifies its two instants.
EVENT_SECONDS = {"start_time": 1.0, "api_call_start_time": 3.25, "completion_start_time": 8.5625, "end_time": 20.78125}
START_SECONDS, END_SECONDS = 0.3125, 41.09375


class SentinelEvent:
    """Factory of one sentinel event."""

    def __init__(self) -> None:
        self._texts, self._numbers = count(1), count(1)

    def make(self, event: Raw) -> Raw:
        """Return the sentinel copy of `event`; `event` itself is not changed."""
        payload, params = event["standard_logging_object"], event.get("litellm_params")
        copy = self._with_sentinels(event, ("model",))
        copy["standard_logging_object"] = self._payload(payload)
        for name, seconds in EVENT_SECONDS.items():
            if isinstance(copy.get(name), datetime):
                copy[name] = _instant(copy[name], seconds)
        if params:
            copy["litellm_params"] = self._params(params)
        return copy

    def moments(self, start: datetime, end: datetime) -> tuple[datetime, datetime]:
        """Return the sentinel start and end that LiteLLM passes beside the event dictionary."""
        return _instant(start, START_SECONDS), _instant(end, END_SECONDS)

    def _payload(self, payload: Raw) -> Raw:
        copy = self._with_sentinels(payload, (*DEPLOYMENT_FIELDS, *COST_FIELDS))
        copy[LENGTH_CLASS_KEY] = self._sentinel("some")
        metadata = copy["metadata"] = self._with_sentinels(
            payload["metadata"], (*REQUIRED_METADATA, *OPTIONAL_METADATA)
        )
        tool, usage = metadata.get("mcp_tool_call_metadata"), metadata.get("usage_object")
        if tool:
            metadata["mcp_tool_call_metadata"] = self._with_sentinels(tool, ("name", "mcp_server_name"))
        if usage:
            metadata["usage_object"] = self._usage(usage)
        hidden = self._with_sentinels(payload["hidden_params"], ("litellm_overhead_time_ms",))
        copy["hidden_params"] = hidden
        if hidden.get("additional_headers"):
            hidden["additional_headers"] = self._with_sentinels(hidden["additional_headers"], HEADERS)
        guardrails = copy.get("guardrail_information")
        if isinstance(guardrails, list):
            copy["guardrail_information"] = [self._with_sentinels(entry, ("duration",)) for entry in guardrails]
        return copy

    def _usage(self, usage: Raw) -> Raw:
        copy = self._with_sentinels(usage, USAGE_FIELDS)
        for name in ("prompt_tokens_details", "completion_tokens_details"):
            if isinstance(copy.get(name), dict):
                copy[name] = self._with_sentinels(copy[name], TOKEN_DETAIL_FIELDS)
        return copy

    def _params(self, params: Raw) -> Raw:
        copy = self._with_sentinels(params, ("custom_llm_provider", "user_api_key_end_user_id", "tpm", "rpm"))
        for name in ("metadata", "litellm_metadata"):
            if isinstance(copy.get(name), dict):
                copy[name] = self._request_metadata(copy[name])
        return copy

    def _request_metadata(self, metadata: Raw) -> Raw:
        model_group = metadata.get("model_group")
        copy = self._with_sentinels(
            metadata, ("user_api_key_end_user_id", "model_group", "original_model_group", "queue_time_seconds")
        )
        for unit in ("requests", "tokens"):
            name = f"litellm-key-remaining-{unit}-"
            if f"{name}{model_group}" in copy:
                copy[f"{name}{copy['model_group']}"] = self._sentinel(copy[f"{name}{model_group}"])
        if isinstance(copy.get("model_info"), dict):
            copy["model_info"] = self._with_sentinels(copy["model_info"], ("id", "tpm", "rpm"))
        return copy

    def _with_sentinels(self, values: Raw, names: Iterable[str]) -> Raw:
        copy = dict(values)
        for name in names:
            if name in copy:
                copy[name] = self._sentinel(copy[name])
        return copy

    def _sentinel(self, value: Any) -> Any:
        if value and isinstance(value, str):
            return f'{SENTINEL_PREFIX}{next(self._texts)}"'
        if type(value) not in NUMBER_TYPES or not value:
            return value
        index = next(self._numbers)
        # Metrics may export differences of numbers. These grow like squares, so that no two differences are equal.
        number = 1_000_003 * index * index + index
        sentinel = number if type(value) is int else number + 0.5
        return sentinel if value > 0 else -sentinel


def _instant(original: datetime, seconds: float) -> datetime:
    return datetime(2001, 1, 1, tzinfo=original.tzinfo) + timedelta(seconds=seconds)
