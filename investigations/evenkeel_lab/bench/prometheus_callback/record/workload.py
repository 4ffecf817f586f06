"""The proxy and the requests whose events are recorded: models, keys and requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHAT, EMBEDDING = "/v1/chat/completions", "/v1/embeddings"
FAULTS: Final = {
    "refused": "status=401",
    "forbidden": "status=403",
    "lost": "status=404",
    "busy": "status=429,retry_after=1",
    "broken": "status=500",
    "gone": "status=503",
    "hanging": "hang",
    "resetting": "reset=0",
    "garbled": "malformed",
    "breaking-off": "half_event=3",
    "erring": "error_event=3",
}
"""The models that fail, each with its fault of the mock provider."""
MOCKED: Final = {
    "too-long": "litellm.ContextWindowExceededError",
    "filtered": "Exception: content_filter_policy",
    "limited-by-mock": "litellm.RateLimitError",
}
"""The models that fail in ways that only LiteLLM's own mock responses have."""
HANG_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Request:
    """One request."""

    key: str
    """The name of its key in `make_keys`."""
    path: str = CHAT
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def model_list(mock_url: str) -> list[dict[str, Any]]:
    """Return the deployments of the proxy."""

    def deployment(name: str, model: str, base: str = f"{mock_url}/v1", **params: object) -> dict[str, Any]:
        own = {"model": model, "api_base": base, "api_key": "sk-mock-account", **params}
        return {"model_name": name, "litellm_params": own, "model_info": {"id": f"{name}-1"}}

    faulty = (
        deployment(name, "openai/gpt-4o-mini", extra_headers={"x-mock-fault": fault}, timeout=HANG_SECONDS)
        for name, fault in FAULTS.items()
    )
    return [
        deployment("gpt-4o-mini", "openai/gpt-4o-mini", rpm=100_000, tpm=50_000_000),
        deployment("gpt-4o", "openai/gpt-4o"),
        deployment("claude", "anthropic/claude-3-5-haiku-20241022", mock_url),
        deployment("embedding", "openai/text-embedding-3-small"),
        deployment("unpriced", "openai/model-without-price"),
        *faulty,
        *(deployment(name, "openai/gpt-4o-mini", mock_response=answer) for name, answer in MOCKED.items()),
        deployment("falling", "openai/gpt-4o-mini", extra_headers={"x-mock-fault": "status=500"}),
        deployment("falling-twice", "openai/gpt-4o-mini", extra_headers={"x-mock-fault": "status=429"}),
    ]


def settings(mock_url: str, callback: str) -> dict[str, Any]:
    """Return the settings that are merged into the lab's usual configuration."""
    return {
        "model_list": model_list(mock_url),
        "litellm_settings": {
            "callbacks": [callback],
            "cache_params": {"supported_call_types": ["acompletion", "aembedding"]},
        },
        "router_settings": {
            "num_retries": 0,
            "disable_cooldowns": True,
            "fallbacks": [{"falling": ["gpt-4o-mini"]}, {"falling-twice": ["broken"]}],
        },
    }


KEYS: Final = ("plain", "budgeted", "team-only", "organised", "limited")
"""The keys of the successful requests, besides the master key."""
SERVED: Final = ("gpt-4o-mini", "gpt-4o", "claude", "unpriced")
FAILING: Final = (*FAULTS, *MOCKED, "falling", "falling-twice", "no-such-model")


def requests() -> Iterator[Request]:
    """Yield all requests, in order."""
    for key in (*KEYS, "master"):
        yield from served(key)
    for number, name in enumerate(FAILING):
        yield from failing(KEYS[number % len(KEYS)], name)
        yield from failing(KEYS[(number + 2) % len(KEYS)], name)
    yield Request("stranger", body=chat("gpt-4o-mini", "who is there?"))
    yield Request("plain", body={"model": "gpt-4o-mini"})
    yield Request("spent", body=chat("gpt-4o-mini", "once"))
    yield Request("spent", body=chat("gpt-4o-mini", "once more"))
    yield Request("throttled", body=chat("gpt-4o-mini", "in time"))
    yield Request("throttled", body=chat("gpt-4o-mini", "too soon"))


def served(key: str) -> Iterator[Request]:
    """Yield the successful requests of one key."""
    for model in SERVED:
        yield Request(key, body=chat(model, f"{key} asks {model}"))
        yield Request(key, body=chat(model, f"{key} listens to {model}") | {"stream": True})
    yield Request(key, body=chat("gpt-4o-mini", f"{key} has a customer") | {"user": f"customer-of-{key}"})
    tagged = {"tags": ["blue", "deck-3"], "spend_logs_metadata": {"ship": "evenkeel"}, "department": "bridge"}
    yield Request(key, body=chat("gpt-4o-mini", f"{key} has tags") | {"metadata": tagged})
    with_usage = {"stream": True, "stream_options": {"include_usage": True}}
    yield Request(key, body=chat("gpt-4o", f"{key} counts") | with_usage | {"service_tier": "flex"})
    again = chat("gpt-4o-mini", f"{key} asks twice")
    yield Request(key, body=again)
    yield Request(key, body=again)
    for _ in range(2):
        yield Request(key, EMBEDDING, {"model": "embedding", "input": f"what {key} keeps"})
    yield Request(
        key, body=chat("gpt-4o", f"{key} travels"), headers={"user-agent": "curl/8.5", "x-litellm-tags": "sea"}
    )


def failing(key: str, model: str) -> Iterator[Request]:
    """Yield requests to one model that fails."""
    yield Request(key, body=chat(model, f"{key} hopes for {model}"))
    yield Request(key, body=chat(model, f"{key} waits for {model}") | {"stream": True, "user": "customer-in-vain"})


def chat(model: str, text: str) -> dict[str, Any]:
    """Return the body of a small chat request."""
    return {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 12}
