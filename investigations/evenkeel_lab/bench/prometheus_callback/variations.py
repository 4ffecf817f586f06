"""Events that the stack does not send by itself: recorded events with one named change each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event, JsonPath

SUCCESS, FAILURE, REJECTED = "async_log_success_event", "async_log_failure_event", "async_post_call_failure_hook"
PAYLOAD: Final = ("kwargs", "standard_logging_object")
FACTS: Final = (*PAYLOAD, "metadata")
USAGE: Final = (*FACTS, "usage_object")
PARAMS: Final = ("kwargs", "litellm_params")
SNAPSHOT: Final = (*PARAMS, "metadata")
HIDDEN: Final = (*PAYLOAD, "hidden_params")
HEADERS: Final = (*HIDDEN, "additional_headers")
FAILED: Final = {SUCCESS: (), FAILURE: ("kwargs", "exception"), REJECTED: ("original_exception",)}
"""The path of the exception in the arguments of each hook."""
EXCEPTIONS: Final[Sequence[tuple[str, Mapping[str, str | int]]]] = (
    ("litellm.exceptions.AuthenticationError", {"status_code": 401, "llm_provider": "openai", "model": "m"}),
    ("litellm.exceptions.PermissionDeniedError", {"status_code": 403, "llm_provider": "anthropic"}),
    ("litellm.exceptions.NotFoundError", {"status_code": 404, "llm_provider": "openai"}),
    ("litellm.exceptions.ContentPolicyViolationError", {"status_code": 400, "llm_provider": "azure"}),
    ("litellm.exceptions.RateLimitError", {"status_code": 429, "category": "provider", "rate_limit_type": "tokens"}),
    ("litellm.proxy._types.ProxyException", {"code": "401", "type": "auth_error", "param": "None"}),
    ("litellm.proxy._types.ProxyException", {"code": "none", "type": "auth_error", "param": "None"}),
    ("builtins.TimeoutError", {}),
)
MODEL_GROUPS: Final = ("passed on", "passed on to another")
"""The model groups of pass-through requests."""
FOREIGN_EXCEPTION: Final = {"$": "exception", "class": "builtins.ValueError", "attributes": {}}
NAN: Final = {"$": "float", "value": "nan"}
INFINITE: Final = {"$": "float", "value": "inf"}
OWNERS: Final = {"key": "", "team": "team_", "user": "user_", "organisation": "org_"}
"""The owners of budgets, and the prefix of their fields."""


@dataclass(frozen=True)
class Variation:
    """One named change of the events of one hook."""

    name: str
    changes: Mapping[JsonPath, Any]
    hook: str = SUCCESS
    group: str = ""
    """Variations of one group are applied to the same events and come together. They test what is distinguished."""

    def apply(self, event: Event) -> Event:
        """Return `event` with the change."""
        return event.changed(self.changes, f"{event.kind}, {self.name}")


def limit_headers(scope: str, unit: str, limit: object, remaining: object) -> dict[str, object]:
    """Return the headers of LiteLLM's own limiter for one limit."""
    return {f"x-ratelimit-{scope}-limit-{unit}": limit, f"x-ratelimit-{scope}-remaining-{unit}": remaining}


def absent(*paths: JsonPath) -> dict[JsonPath, Any]:
    """Return a change that removes values."""
    return dict.fromkeys(paths, ABSENT)


def usage(**details: object) -> dict[JsonPath, Any]:
    """Return a change of the used tokens."""
    return {USAGE: {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, **details}}


def passed_on(provider: str, call_type: str, group: str) -> dict[JsonPath, Any]:
    """Return a change that makes a rejected request a pass-through request, or nearly one."""
    return {
        ("request_data", "custom_llm_provider"): provider,
        ("request_data", "call_type"): call_type,
        ("request_data", "litellm_params"): {"metadata": {"model_group": group}},
        ("request_data", "standard_logging_object"): ABSENT,
    }


def guarded(*guardrails: Mapping[str, object]) -> dict[JsonPath, Any]:
    """Return a change that adds guardrail results."""
    return {(*PAYLOAD, "guardrail_information"): list(guardrails)}


INFOS: Final[Sequence[Mapping[str, str] | None]] = (ABSENT, None, {}, {"id": "a"}, {"id": "b"})
"""Values of `model_info`."""
NO_PROVIDER: Final[Mapping[JsonPath, Any]] = {
    (*PARAMS, "custom_llm_provider"): None,
    (*PAYLOAD, "custom_llm_provider"): None,
}
NO_ID: Final = (*PAYLOAD, "model_id")
INFO, DEPLOYMENT = (*SNAPSHOT, "model_info"), (*SNAPSHOT, "deployment")
SENT: Final = ("request_data", "proxy_server_request")
MISSING: Final = (
    *(("payload", field) for field in ("response_cost", "total_tokens", "completion_tokens", "prompt_tokens")),
    *(("payload", field) for field in ("request_tags", "model_group", "model_id", "api_base", "custom_llm_provider")),
    *(("payload", field) for field in ("hidden_params", "cache_hit", "stream", "metadata")),
    *(
        ("facts", f"user_api_key_{field}")
        for field in ("user_id", "hash", "alias", "team_id", "team_alias", "user_email", "org_id", "request_route")
    ),
    *(("facts", field) for field in ("requester_ip_address", "user_agent", "usage_object")),
    *(("kwargs", field) for field in ("model", "start_time", "completion_start_time", "litellm_params")),
)
PARENTS: Final = {"payload": PAYLOAD, "facts": FACTS, "kwargs": ("kwargs",)}

VARIATIONS: Final[Sequence[Variation]] = (
    *(Variation(f"no {field}", absent((*PARENTS[parent], field))) for parent, field in MISSING),
    *(Variation(f"no {field}", absent((*PARENTS[parent], field)), FAILURE) for parent, field in MISSING),
    *(Variation(f"{field} is null", {(*PARENTS[parent], field): None}) for parent, field in MISSING),
    Variation("no payload", absent(PAYLOAD)),
    Variation("payload is text", {PAYLOAD: "payload"}),
    Variation("cost is not a number", {(*PAYLOAD, "response_cost"): NAN}),
    Variation("cost is infinite", {(*PAYLOAD, "response_cost"): INFINITE}),
    Variation("cost is negative", {(*PAYLOAD, "response_cost"): -0.25}),
    Variation("cost is zero", {(*PAYLOAD, "response_cost"): 0}),
    Variation("cost is text", {(*PAYLOAD, "response_cost"): "0.5"}),
    Variation("cost is true", {(*PAYLOAD, "response_cost"): True}),
    Variation(
        "cost is zero, with a reason",
        {(*PAYLOAD, "response_cost"): 0.0, (*PAYLOAD, "zero_cost_diagnostic"): {"reason": "x"}},
    ),
    Variation("a failure at no cost, with a reason", {(*PAYLOAD, "zero_cost_diagnostic"): {"reason": "y"}}, FAILURE),
    Variation("tokens are true", {(*PAYLOAD, "total_tokens"): True, (*PAYLOAD, "completion_tokens"): True}),
    Variation("no tokens", {(*PAYLOAD, name): 0 for name in ("total_tokens", "prompt_tokens", "completion_tokens")}),
    Variation("tokens are negative", {(*PAYLOAD, "prompt_tokens"): -3}),
    Variation(
        "cached, created, audio and reasoning tokens",
        usage(
            prompt_tokens_details={"cached_tokens": 5, "cache_creation_tokens": 2, "audio_tokens": 3},
            completion_tokens_details={"reasoning_tokens": 4, "audio_tokens": 1},
        ),
    ),
    Variation("tokens of Anthropic's cache", usage(cache_read_input_tokens=6, cache_creation_input_tokens=8)),
    Variation("images and video", usage(output_image_count=2, duration_seconds=7.5)),
    Variation(
        "details are no numbers",
        usage(
            prompt_tokens_details={"cached_tokens": True, "audio_tokens": "3"},
            completion_tokens_details={"reasoning_tokens": None, "audio_tokens": -1},
        ),
    ),
    Variation("details are null", usage(prompt_tokens_details=None, completion_tokens_details=None)),
    Variation("a service tier that was used", usage(service_tier="priority")),
    Variation("cache hit is text", {(*PAYLOAD, "cache_hit"): "True"}),
    Variation("cache missed", {(*PAYLOAD, "cache_hit"): False}),
    Variation(
        "limits of the key, and what remains",
        {
            HEADERS: {
                **limit_headers("api_key", "requests", 100, 40),
                **limit_headers("api_key", "tokens", 10_000, 9_000),
                **limit_headers("model_per_key", "requests", 50, 7),
                **limit_headers("model_per_key", "tokens", 5_000, 0),
            }
        },
    ),
    Variation(
        "limits of the team and the project",
        {
            HEADERS: {
                **limit_headers("team", "requests", 300, 299),
                **limit_headers("team", "tokens", 30_000, 1),
                **limit_headers("model_per_project", "requests", 20, 3),
                **limit_headers("api_key_itpm", "tokens", 800, 80),
                **limit_headers("api_key_otpm", "tokens", 700, 70),
            },
            (*FACTS, "user_api_key_project_id"): "project-1",
            (*FACTS, "user_api_key_project_alias"): "voyage",
        },
    ),
    Variation("limits that are text", {HEADERS: {**limit_headers("api_key", "requests", "100", "40")}}),
    Variation("half of the limits", {HEADERS: {"x-ratelimit-api_key-limit-requests": 100}}),
    Variation(
        "remaining limits of the provider",
        {HEADERS: {"x_ratelimit_remaining_requests": 41, "x_ratelimit_remaining_tokens": 9}},
    ),
    Variation(
        "nothing remaining at the provider",
        {HEADERS: {"x_ratelimit_remaining_requests": 0, "x_ratelimit_remaining_tokens": 0}},
    ),
    Variation("remaining limits as text", {HEADERS: {"x_ratelimit_remaining_requests": "17"}}),
    Variation("remaining limits of the old limiter", {(*SNAPSHOT, "litellm-key-remaining-requests-gpt-4o-mini"): 12}),
    Variation("no overhead", {(*HIDDEN, "litellm_overhead_time_ms"): 0}),
    Variation("overhead", {(*HIDDEN, "litellm_overhead_time_ms"): 12.5}),
    Variation("queued", {(*SNAPSHOT, "queue_time_seconds"): 0.75}),
    Variation("a negative queue time", {(*SNAPSHOT, "queue_time_seconds"): -1.0}),
    Variation(
        "guarded before and during the call",
        guarded(
            {"guardrail_name": "a", "guardrail_mode": "pre_call", "duration": 0.25, "guardrail_status": "success"},
            {"guardrail_name": "b", "guardrail_mode": "during_call", "duration": 0.5, "guardrail_status": "success"},
            {"guardrail_name": "c", "guardrail_mode": ["pre_call", "post_call"], "duration": 0.125},
        ),
    ),
    Variation(
        "a tool",
        {(*FACTS, "mcp_tool_call_metadata"): {"name": "sextant", "mcp_server_name": "bridge"}},
    ),
    Variation(
        "custom labels",
        {
            (*FACTS, "requester_metadata"): {"department": "galley", "ship": 'the "Even\\Keel"\nII'},
            (*FACTS, "spend_logs_metadata"): {"ship": "tender", "crew": 12, "deep": {"hold": "rum"}},
            (*FACTS, "user_api_key_auth_metadata"): {"department": "engine"},
        },
    ),
    Variation("tags", {(*PAYLOAD, "request_tags"): ["blue", "deck-9", "User-Agent: curl"]}),
    Variation("tags are null", {(*PAYLOAD, "request_tags"): None}),
    Variation("text that must be escaped", {(*FACTS, "user_api_key_alias"): 'a"b\\c\nd\r\u2028e'}),
    Variation("an alias that is a number", {(*FACTS, "user_api_key_alias"): 42}),
    *(
        Variation(f"{owner} whose {field} is null", {(*SNAPSHOT, f"user_api_key_{prefix}{field}"): None})
        for owner, prefix in OWNERS.items()
        for field in ("spend", "max_budget")
    ),
    *(
        Variation(f"{owner} whose {field} is absent", absent((*SNAPSHOT, f"user_api_key_{prefix}{field}")))
        for owner, prefix in OWNERS.items()
        for field in ("spend", "max_budget", "budget_reset_at")
    ),
    Variation("no end time", absent(("end_time",))),
    Variation("a key that is not hashed", {(*FACTS, "user_api_key_hash"): "sk-not-hashed"}),
    Variation("no exception", {("kwargs", "exception"): None}, FAILURE),
    Variation("no deployment was chosen", {(*PAYLOAD, "model_id"): ""}, FAILURE),
    Variation("the client is only in the snapshot", {FACTS: {"user_api_key_hash": None}}, FAILURE),
    Variation("tags", {("request_data", "metadata", "tags"): ["blue"]}, REJECTED),
    Variation("no metadata", absent(("request_data", "metadata")), REJECTED),
    Variation("a model that is a number", {("request_data", "model"): 7}, REJECTED),
    *(
        Variation(
            f"exception {name.rpartition('.')[2]} {attributes.get('status_code', attributes.get('code', ''))}".strip(),
            {FAILED[hook]: {"$": "exception", "class": name, "attributes": {"message": "It failed.", **attributes}}},
            hook,
        )
        for hook in (FAILURE, REJECTED)
        for name, attributes in EXCEPTIONS
    ),
    Variation("an exception of no library", {("original_exception",): FOREIGN_EXCEPTION}, REJECTED),
    *(
        Variation(
            f"passed on by {provider}, {call_type}, for {group}",
            passed_on(provider, call_type, group),
            REJECTED,
            "passed on",
        )
        for provider in ("gemini", "vertex_ai", "openai")
        for call_type in ("pass_through_endpoint", "acompletion")
        for group in MODEL_GROUPS
    ),
    *(
        Variation(f"{'.'.join(path)} is {info}", {path: info}, REJECTED, "deployment")
        for path in (("request_data", "model_info"), ("request_data", "metadata", "model_info"))
        for info in INFOS
    ),
    *(
        Variation(f"{'.'.join(path)} is {tags!r}", {path: tags}, REJECTED, "tags")
        for path in (("request_data", "metadata", "tags"), ("request_data", "litellm_metadata"), SENT)
        for tags in (ABSENT, None, "blue", ["blue"])
    ),
    *(
        Variation(f"a model that is {model!r}", {("request_data", "model"): model}, REJECTED, "a model")
        for model in (ABSENT, None, "", 7)
    ),
    *(
        Variation(f"no model_id, model_info is {info}", {NO_ID: None, INFO: info}, FAILURE, "deployment")
        for info in INFOS
    ),
    *(
        Variation(f"no provider, deployment is {name}", {**NO_PROVIDER, DEPLOYMENT: name}, FAILURE, "a provider")
        for name in (ABSENT, None, "azure/gpt", "openai/gpt")
    ),
    *(
        Variation(f"{'.'.join(path)} is {value}", {path: value}, FAILURE, "absent values")
        for path in (("kwargs", "model"), (*PAYLOAD, "model_id"), (*PAYLOAD, "model_group"))
        for value in (ABSENT, None)
    ),
    *(
        Variation(f"a prompt of {tokens}", {(*PAYLOAD, "prompt_tokens"): tokens, USAGE: ABSENT}, SUCCESS, "a prompt")
        for tokens in (0, 1, 3_000, 30_000, 2_000_000)
    ),
)  # fmt: skip
SOURCES: Final = 2
"""The number of recorded events that each variation is applied to."""


def vary(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Yield groups of variations, applied to recorded events that are spread over `events`.

    The variations of one group are applied to the same event.
    """
    by_hook: dict[str, list[Event]] = {}
    for event in events:
        by_hook.setdefault(event.hook, []).append(event)
    groups: dict[tuple[str, object], list[Variation]] = {}
    for number, variation in enumerate(VARIATIONS):
        groups.setdefault((variation.hook, variation.group or number), []).append(variation)
    for number, ((hook, _), variations) in enumerate(groups.items()):
        sources = by_hook.get(hook, [])
        for repetition in range(min(SOURCES, len(sources))):
            # Sources far apart differ in kind and in key.
            source = sources[(number * 7 + repetition * (len(sources) // SOURCES)) % len(sources)]
            yield [variation.apply(source) for variation in variations]
