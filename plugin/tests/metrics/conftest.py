"""Events as LiteLLM tells them, and code that counts them in its manner."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from litellm_evenkeel.metrics.facts import Raw, Readers
from litellm_evenkeel.metrics.families import Counter, Gauge, Histogram, Store

BEGAN = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as LiteLLM tells it
READERS = Readers(
    end_user=lambda params: params.get("user_api_key_end_user_id"),
    tier=lambda payload: payload.get("tier"),
    is_skipped=lambda told: told["exception"].args == ("skip",),
    guardrails=lambda payload: sum(one["duration"] for one in payload["guardrail_information"]),
)


def after(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def event(team: str | None = "team", user: str | None = "user", cost: Any = 0.25, **payload: Any) -> Raw:
    """Return what LiteLLM tells of a success."""
    metadata = {
        "user_api_key_user_id": user,
        "user_api_key_hash": "hash",
        "user_api_key_alias": None,
        "user_api_key_team_id": team,
        "user_api_key_team_alias": "alias",
        "user_api_key_user_email": None,
        "usage_object": payload.pop("usage", None),
    }
    return {
        "model": "gpt",
        "stream": payload.get("stream"),
        "start_time": after(0),
        "api_call_start_time": after(0.25),
        "completion_start_time": after(0.5),
        "end_time": after(1),
        "litellm_params": {"metadata": {"queue_time_seconds": 0.5}, "custom_llm_provider": "openai"},
        "standard_logging_object": {
            "metadata": metadata,
            "response_cost": cost,
            "total_tokens": 30,
            "prompt_tokens": 10,
            "completion_tokens": 20,
            "model_group": "group",
            "model_id": "id",
            "api_base": "http://base",
            "custom_llm_provider": "openai",
            "request_tags": [],
            "hidden_params": {"additional_headers": {}, "litellm_overhead_time_ms": 2.0},
            **payload,
        },
    }


class Theirs:
    """Counts events as LiteLLM's callback does, if not all that it counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.store = Store(self.registry)
        self.requests = Counter(self.store, "requests", "Requests.", ("team", "user", "note"))
        self.spend = Counter(self.store, "spend", "Spend.", ("team", "user"))
        self.cached = Counter(self.store, "cached", "Cached tokens.", ("team",))
        self.left = Gauge(self.store, "left", "Left.", ("team",))
        self.took = Histogram(self.store, "took", "Took.", ("team",), buckets=(0.5, 1.0))
        self.runs = 0
        self.twist = 0.0
        """What it does otherwise than it did."""

    async def count(self, told: Raw, answer: object, start: datetime, end: datetime) -> None:
        del answer, start, end
        self.runs += 1
        payload = told["standard_logging_object"]
        metadata = payload["metadata"]
        team, user = (
            str(value).replace("\\", "\\\\").replace('"', '\\"')
            for value in (metadata["user_api_key_team_id"], metadata["user_api_key_user_id"])
        )
        note = payload.get("note") or payload.get("deep", {}).get("note", "none")
        self.requests.labels(team=team, user=user, note=note).inc()
        self.spend.labels(team=team, user=user).inc(float(payload["response_cost"]) + self.twist)
        usage = metadata["usage_object"]
        if usage and usage["prompt_tokens_details"]["cached_tokens"]:
            self.cached.labels(team=team).inc(usage["prompt_tokens_details"]["cached_tokens"])
        queued = told["litellm_params"]["metadata"]["queue_time_seconds"]
        self.took.labels(team=team).observe((told["end_time"] - told["start_time"]).total_seconds() + queued)
        left = payload["hidden_params"]["additional_headers"].get("x_ratelimit_remaining_requests")
        if left is None:
            self.left.remove(team)
        else:
            self.left.labels(team=team).set(left)


@pytest.fixture
def theirs() -> Theirs:
    """Return code in LiteLLM's manner."""
    return Theirs()
