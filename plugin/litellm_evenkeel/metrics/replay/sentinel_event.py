"""The twin of an event, of the same form, in which each text and each number that may matter is another one."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.replay.event_facts import LEFT, LIMITED, MORE, PLAIN, WHERE, WHO, WRITTEN, Raw
from litellm_evenkeel.metrics.replay.update_plan import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable

USAGE = ("duration_seconds", "output_image_count", "cache_read_input_tokens", "cache_creation_input_tokens")
IN_DETAILS = ("cached_tokens", "audio_tokens", "reasoning_tokens", *WRITTEN)
LENGTH = "evenkeel_input_sequence_length"
"""Where a twin's payload has the mark for the class of its prompt's length, which no number of a twin would have."""
OF_KEY = "x-ratelimit-model_per_key-remaining-"
COSTS = ("response_cost", "total_tokens", "prompt_tokens", "completion_tokens")
HEADERS = (*[name for pair in LIMITED for name in pair], *LEFT, f"{OF_KEY}requests", f"{OF_KEY}tokens")
# Each of them later than the one before, and no two as far from each other as two others.
MOMENTS = {"start_time": 1.0, "api_call_start_time": 3.25, "completion_start_time": 8.5625, "end_time": 20.78125}
BEGAN, ENDED = 0.3125, 41.09375


class SentinelEvent:
    """Marks an event."""

    def __init__(self) -> None:
        self._texts, self._numbers = count(1), count(1)

    def of(self, event: Raw) -> Raw:
        """Return its twin; nothing of the event itself is changed."""
        payload, params = event["standard_logging_object"], event.get("litellm_params")
        found = self._with(event, ("model",))
        found["standard_logging_object"] = self._payload(payload)
        for name, moment in MOMENTS.items():
            if isinstance(found.get(name), datetime):
                found[name] = _moment(found[name], moment)
        if params:
            found["litellm_params"] = self._params(params)
        return found

    def moments(self, start: datetime, end: datetime) -> tuple[datetime, datetime]:
        """Return when it began and ended, as events are told beside their dictionary."""
        return _moment(start, BEGAN), _moment(end, ENDED)

    def _payload(self, payload: Raw) -> Raw:
        found = self._with(payload, (*WHERE, *COSTS))
        found[LENGTH] = self._mark("some")
        metadata = found["metadata"] = self._with(payload["metadata"], (*WHO, *MORE))
        tool, usage = metadata.get("mcp_tool_call_metadata"), metadata.get("usage_object")
        if tool:
            metadata["mcp_tool_call_metadata"] = self._with(tool, ("name", "mcp_server_name"))
        if usage:
            metadata["usage_object"] = self._usage(usage)
        hidden = found["hidden_params"] = self._with(payload["hidden_params"], ("litellm_overhead_time_ms",))
        if hidden.get("additional_headers"):
            hidden["additional_headers"] = self._with(hidden["additional_headers"], HEADERS)
        guardrails = found.get("guardrail_information")
        if isinstance(guardrails, list):
            found["guardrail_information"] = [self._with(one, ("duration",)) for one in guardrails]
        return found

    def _usage(self, usage: Raw) -> Raw:
        found = self._with(usage, USAGE)
        for name in ("prompt_tokens_details", "completion_tokens_details"):
            if isinstance(found.get(name), dict):
                found[name] = self._with(found[name], IN_DETAILS)
        return found

    def _params(self, params: Raw) -> Raw:
        found = self._with(params, ("custom_llm_provider", "user_api_key_end_user_id", "tpm", "rpm"))
        for name in ("metadata", "litellm_metadata"):
            if isinstance(found.get(name), dict):
                found[name] = self._asked(found[name])
        return found

    def _asked(self, metadata: Raw) -> Raw:
        group = metadata.get("model_group")
        found = self._with(
            metadata, ("user_api_key_end_user_id", "model_group", "original_model_group", "queue_time_seconds")
        )
        for unit in ("requests", "tokens"):
            name = f"litellm-key-remaining-{unit}-"
            if f"{name}{group}" in found:
                found[f"{name}{found['model_group']}"] = self._mark(found[f"{name}{group}"])
        if isinstance(found.get("model_info"), dict):
            found["model_info"] = self._with(found["model_info"], ("id", "tpm", "rpm"))
        return found

    def _with(self, values: Raw, names: Iterable[str]) -> Raw:
        found = dict(values)
        for name in names:
            if name in found:
                found[name] = self._mark(found[name])
        return found

    def _mark(self, value: Any) -> Any:
        if value and isinstance(value, str):
            return f'{MARK}{next(self._texts)}"'
        if type(value) not in PLAIN or not value:
            return value
        place = next(self._numbers)
        # Squares: no two of them are as far from each other as two others, for what is told are differences at times.
        number = 1_000_003 * place * place + place
        marked = number if type(value) is int else number + 0.5
        return marked if value > 0 else -marked


def _moment(told: datetime, seconds: float) -> datetime:
    return datetime(2001, 1, 1, tzinfo=told.tzinfo) + timedelta(seconds=seconds)
