"""What the stack could not be brought to tell: recorded events with one thing changed, each change with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel_lab.bench.prometheus_callback.events import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel_lab.bench.prometheus_callback.events import Event, Path_

SUCCESS, FAILURE, REFUSAL = "async_log_success_event", "async_log_failure_event", "async_post_call_failure_hook"
PAYLOAD: Final = ("kwargs", "standard_logging_object")
FACTS: Final = (*PAYLOAD, "metadata")
USAGE: Final = (*FACTS, "usage_object")
PARAMS: Final = ("kwargs", "litellm_params")
SNAPSHOT: Final = (*PARAMS, "metadata")
HIDDEN: Final = (*PAYLOAD, "hidden_params")
HEADERS: Final = (*HIDDEN, "additional_headers")
FAILED: Final = {SUCCESS: (), FAILURE: ("kwargs", "exception"), REFUSAL: ("original_exception",)}
"""Where a hook is told what failed."""
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
MODEL_GROUPS: Final = ("passed on", "passed on elsewhere")
"""Of requests that LiteLLM passes on as they are."""
NOBODYS: Final = {"$": "exception", "class": "builtins.ValueError", "attributes": {}}
NAN: Final = {"$": "float", "value": "nan"}
INFINITE: Final = {"$": "float", "value": "inf"}
OWNERS: Final = {"key": "", "team": "team_", "user": "user_", "organisation": "org_"}
"""Those who have budgets, and how their fields begin."""


@dataclass(frozen=True)
class Variation:
    """One thing changed, in events of one hook."""

    name: str
    changes: Mapping[Path_, Any]
    hook: str = SUCCESS
    beside: str = ""
    """What it is told apart from: all variations beside one thing are made to the same events, and come together."""

    def of(self, event: Event) -> Event:
        """Return an event with the change."""
        return event.changed(self.changes, f"{event.kind}, {self.name}")


def header(scope: str, what: str, limit: object, left: object) -> dict[str, object]:
    """Return what LiteLLM's own limiter says of one limit."""
    return {f"x-ratelimit-{scope}-limit-{what}": limit, f"x-ratelimit-{scope}-remaining-{what}": left}


def absent(*places: Path_) -> dict[Path_, Any]:
    """Return a change that takes values away."""
    return dict.fromkeys(places, ABSENT)


def usage(**details: object) -> dict[Path_, Any]:
    """Return a change of what was used."""
    return {USAGE: {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, **details}}


def passed_on(provider: str, call_type: str, group: str) -> dict[Path_, Any]:
    """Return a change that makes a refused request one that LiteLLM passes on as it is, or nearly."""
    return {
        ("request_data", "custom_llm_provider"): provider,
        ("request_data", "call_type"): call_type,
        ("request_data", "litellm_params"): {"metadata": {"model_group": group}},
        ("request_data", "standard_logging_object"): ABSENT,
    }


def guarded(*guardrails: Mapping[str, object]) -> dict[Path_, Any]:
    """Return a change that tells of guardrails."""
    return {(*PAYLOAD, "guardrail_information"): list(guardrails)}


INFOS: Final[Sequence[Mapping[str, str] | None]] = (ABSENT, None, {}, {"id": "a"}, {"id": "b"})
"""What may be said of a deployment."""
NO_PROVIDER: Final[Mapping[Path_, Any]] = {
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
PLACES: Final = {"payload": PAYLOAD, "facts": FACTS, "kwargs": ("kwargs",)}

VARIATIONS: Final[Sequence[Variation]] = (
    *(Variation(f"no {field}", absent((*PLACES[where], field))) for where, field in MISSING),
    *(Variation(f"no {field}", absent((*PLACES[where], field)), FAILURE) for where, field in MISSING),
    *(Variation(f"{field} is null", {(*PLACES[where], field): None}) for where, field in MISSING),
    Variation("no payload", absent(PAYLOAD)),
    Variation("payload is text", {PAYLOAD: "payload"}),
    Variation("cost is not a number", {(*PAYLOAD, "response_cost"): NAN}),
    Variation("cost is infinite", {(*PAYLOAD, "response_cost"): INFINITE}),
    Variation("cost is negative", {(*PAYLOAD, "response_cost"): -0.25}),
    Variation("cost is zero", {(*PAYLOAD, "response_cost"): 0}),
    Variation("cost is text", {(*PAYLOAD, "response_cost"): "0.5"}),
    Variation("cost is true", {(*PAYLOAD, "response_cost"): True}),
    Variation(
        "cost is zero, and why", {(*PAYLOAD, "response_cost"): 0.0, (*PAYLOAD, "zero_cost_diagnostic"): {"reason": "x"}}
    ),
    Variation("why it failed at no cost", {(*PAYLOAD, "zero_cost_diagnostic"): {"reason": "y"}}, FAILURE),
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
        "limits of the key, and what is left",
        {
            HEADERS: {
                **header("api_key", "requests", 100, 40),
                **header("api_key", "tokens", 10_000, 9_000),
                **header("model_per_key", "requests", 50, 7),
                **header("model_per_key", "tokens", 5_000, 0),
            }
        },
    ),
    Variation(
        "limits of the team and the project",
        {
            HEADERS: {
                **header("team", "requests", 300, 299),
                **header("team", "tokens", 30_000, 1),
                **header("model_per_project", "requests", 20, 3),
                **header("api_key_itpm", "tokens", 800, 80),
                **header("api_key_otpm", "tokens", 700, 70),
            },
            (*FACTS, "user_api_key_project_id"): "project-1",
            (*FACTS, "user_api_key_project_alias"): "voyage",
        },
    ),
    Variation("limits that are text", {HEADERS: {**header("api_key", "requests", "100", "40")}}),
    Variation("half of the limits", {HEADERS: {"x-ratelimit-api_key-limit-requests": 100}}),
    Variation(
        "what is left at the provider",
        {HEADERS: {"x_ratelimit_remaining_requests": 41, "x_ratelimit_remaining_tokens": 9}},
    ),
    Variation(
        "nothing is left at the provider",
        {HEADERS: {"x_ratelimit_remaining_requests": 0, "x_ratelimit_remaining_tokens": 0}},
    ),
    Variation("what is left, as text", {HEADERS: {"x_ratelimit_remaining_requests": "17"}}),
    Variation("what is left of the old limiter", {(*SNAPSHOT, "litellm-key-remaining-requests-gpt-4o-mini"): 12}),
    Variation("no overhead", {(*HIDDEN, "litellm_overhead_time_ms"): 0}),
    Variation("overhead", {(*HIDDEN, "litellm_overhead_time_ms"): 12.5}),
    Variation("queued", {(*SNAPSHOT, "queue_time_seconds"): 0.75}),
    Variation("queued since tomorrow", {(*SNAPSHOT, "queue_time_seconds"): -1.0}),
    Variation(
        "guarded before and meanwhile",
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
        "labels of one's own",
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
        Variation(f"{owner} whose {what} nobody knows", {(*SNAPSHOT, f"user_api_key_{prefix}{what}"): None})
        for owner, prefix in OWNERS.items()
        for what in ("spend", "max_budget")
    ),
    *(
        Variation(f"{owner} whose {what} was not carried", absent((*SNAPSHOT, f"user_api_key_{prefix}{what}")))
        for owner, prefix in OWNERS.items()
        for what in ("spend", "max_budget", "budget_reset_at")
    ),
    Variation("no answer's time", absent(("end_time",))),
    Variation("a key as it is typed", {(*FACTS, "user_api_key_hash"): "sk-typed-by-hand"}),
    Variation("a status of its own", {("kwargs", "exception"): None}, FAILURE),
    Variation("no deployment was chosen", {(*PAYLOAD, "model_id"): ""}, FAILURE),
    Variation("who asked is only in the snapshot", {FACTS: {"user_api_key_hash": None}}, FAILURE),
    Variation("tags", {("request_data", "metadata", "tags"): ["blue"]}, REFUSAL),
    Variation("no metadata", absent(("request_data", "metadata")), REFUSAL),
    Variation("a model that is a number", {("request_data", "model"): 7}, REFUSAL),
    *(
        Variation(
            f"it was {name.rpartition('.')[2]} {known.get('status_code', known.get('code', ''))}".strip(),
            {FAILED[hook]: {"$": "exception", "class": name, "attributes": {"message": "It failed.", **known}}},
            hook,
        )
        for hook in (FAILURE, REFUSAL)
        for name, known in EXCEPTIONS
    ),
    Variation("nobody's exception", {("original_exception",): NOBODYS}, REFUSAL),
    *(
        Variation(f"passed on by {by}, {how}, for {group}", passed_on(by, how, group), REFUSAL, "passed on")
        for by in ("gemini", "vertex_ai", "openai")
        for how in ("pass_through_endpoint", "acompletion")
        for group in MODEL_GROUPS
    ),
    *(
        Variation(f"{'.'.join(place)} is {info}", {place: info}, REFUSAL, "whose refusal it is")
        for place in (("request_data", "model_info"), ("request_data", "metadata", "model_info"))
        for info in INFOS
    ),
    *(
        Variation(f"{'.'.join(place)} is {tags!r}", {place: tags}, REFUSAL, "tags")
        for place in (("request_data", "metadata", "tags"), ("request_data", "litellm_metadata"), SENT)
        for tags in (ABSENT, None, "blue", ["blue"])
    ),
    *(
        Variation(f"a model that is {model!r}", {("request_data", "model"): model}, REFUSAL, "a model")
        for model in (ABSENT, None, "", 7)
    ),
    *(
        Variation(f"no model_id, model_info is {info}", {NO_ID: None, INFO: info}, FAILURE, "whose failure it is")
        for info in INFOS
    ),
    *(
        Variation(f"no provider, deployment is {name}", {**NO_PROVIDER, DEPLOYMENT: name}, FAILURE, "a provider")
        for name in (ABSENT, None, "azure/gpt", "openai/gpt")
    ),
    *(
        Variation(f"{'.'.join(place)} is {value}", {place: value}, FAILURE, "what is not there")
        for place in (("kwargs", "model"), (*PAYLOAD, "model_id"), (*PAYLOAD, "model_group"))
        for value in (ABSENT, None)
    ),
    *(
        Variation(f"a prompt of {tokens}", {(*PAYLOAD, "prompt_tokens"): tokens, USAGE: ABSENT}, SUCCESS, "a prompt")
        for tokens in (0, 1, 3_000, 30_000, 2_000_000)
    ),
)  # fmt: skip
"""All there are."""
SOURCES: Final = 2
"""To so many recorded events of the hook each is made, besides one of each kind."""


def varied(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Return recorded events with the variations made to them, spread over those there are.

    What is told apart from each other comes together, made to the same event.
    """
    by_hook: dict[str, list[Event]] = {}
    for event in events:
        by_hook.setdefault(event.hook, []).append(event)
    together: dict[tuple[str, object], list[Variation]] = {}
    for number, variation in enumerate(VARIATIONS):
        together.setdefault((variation.hook, variation.beside or number), []).append(variation)
    for number, ((hook, _), variations) in enumerate(together.items()):
        sources = by_hook.get(hook, [])
        for one in range(min(SOURCES, len(sources))):
            # Far apart: another kind, another key.
            source = sources[(number * 7 + one * (len(sources) // SOURCES)) % len(sources)]
            yield [variation.of(source) for variation in variations]
