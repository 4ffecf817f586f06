"""Everything in a success event that can influence a metric: label values as text, amounts as numbers, nothing else.

LiteLLM's event dictionaries hold prompts and completions and are mutated later, so no reference to them is kept.
Numbers are in the unit of their metric: durations in seconds, limits as the used amount. The facts are read for every
request, so they are read without checks; an event of an unexpected form raises whatever error results, and is left to
LiteLLM's own code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

Raw: TypeAlias = dict[str, Any]
Numbers: TypeAlias = tuple[float | None, ...]

REQUIRED_METADATA = (
    "user_api_key_user_id",
    "user_api_key_hash",
    "user_api_key_alias",
    "user_api_key_team_id",
    "user_api_key_team_alias",
    "user_api_key_user_email",
)
"""Metadata keys that every event has. LiteLLM does not count an event that lacks one of them."""
OPTIONAL_METADATA = (
    "user_api_key_org_id",
    "user_api_key_org_alias",
    "user_api_key_project_id",
    "user_api_key_project_alias",
    "user_api_key_request_route",
    "requester_ip_address",
    "user_agent",
)
DEPLOYMENT_FIELDS = ("model_group", "model_id", "api_base", "custom_llm_provider")
# Response headers of LiteLLM's own rate limiter: pairs of the limit and what remains of it.
LIMITER_HEADERS = tuple(
    (f"x-ratelimit-{descriptor}-limit-{unit}", f"x-ratelimit-{descriptor}-remaining-{unit}")
    for descriptor, unit in (
        ("api_key", "requests"),
        ("api_key", "tokens"),
        ("team", "requests"),
        ("team", "tokens"),
        ("model_per_project", "requests"),
        ("model_per_project", "tokens"),
        ("model_per_project_itpm", "tokens"),
        ("model_per_project_otpm", "tokens"),
    )
)
REMAINING_HEADERS = ("x_ratelimit_remaining_requests", "x_ratelimit_remaining_tokens")
"""Headers in which providers state what remains of their limits."""
KEY_REMAINING_HEADER = "x-ratelimit-model_per_key-remaining-"
"""Prefix of the headers with what remains of a key's limits for a model; `requests` or `tokens` follows."""
CACHE_WRITE_FIELDS = ("cache_write_tokens", "cache_creation_tokens")
NUMBER_TYPES = frozenset({int, float})
MAX_NUMBER = 1e300
EMPTY: Raw = {}
LABEL_COUNT = 26
"""Number of leading entries of `EventFacts.label_values` that are labels; the rest decides which series exist."""


class UnsupportedEvent(Exception):
    """An event of an unexpected form, which is left to LiteLLM's own code."""


class EventFacts(NamedTuple):
    """Facts of one event."""

    label_values: tuple[Any, ...]
    """Everything that is text: label values first, then values that decide which series exist."""
    shape: int
    """Bit pattern of which numbers are present, and which of them are zero or negative."""
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class LiteLLMReaders:
    """LiteLLM's own functions for values that depend on its settings."""

    end_user: Callable[[Raw], str | None]
    """Return the end user, given the request's parameters; `None` if unknown."""
    tier: Callable[[Raw], str | None]
    """Return the service tier, given the payload; `None` if unknown."""
    skips: Callable[[Raw], bool]
    """Return whether LiteLLM does not count an event because of its exception."""
    guardrail_seconds: Callable[[Raw], float]
    """Return the seconds spent in guardrails, given the payload."""
    bound_value: Callable[[str, Any], Any] = lambda _name, value: value
    """Return the exported value of a label, given its name and value; `other` if there are too many values."""
    custom_labels: Callable[[Raw], tuple[tuple[str, str], ...]] | None = None
    """Return the labels that the operator configured, given the payload; `None` if none are configured."""
    tag_labels: Callable[[Any], tuple[tuple[str, str], ...]] | None = None
    """Return the labels made from request tags, given the tags; `None` if none are configured."""
    has_stream_label: bool = False
    prompt_length_class: Callable[[Raw, Raw, object], str] | None = None
    """Return the class of the prompt's length, given payload, event and response; `None` if it is no label."""


def read_facts(event: Raw, answer: object, start: datetime, end: datetime, readers: LiteLLMReaders) -> EventFacts:
    """Return the facts of a success event; raise any error if its form is unexpected."""
    payload = event["standard_logging_object"]
    params = event.get("litellm_params") or EMPTY
    request_metadata, hidden = params.get("metadata") or EMPTY, payload["hidden_params"]
    info = (params.get("litellm_metadata") or request_metadata).get("model_info") or EMPTY
    label_values = _label_values(event, payload, params, info, answer, readers)
    amounts = _amounts(payload)
    tokens = _tokens(payload["metadata"].get("usage_object"))
    times = _times(event, start, end, request_metadata.get("queue_time_seconds"), payload["completion_tokens"])
    overhead = hidden.get("litellm_overhead_time_ms")
    guardrails = readers.guardrail_seconds(payload) if payload.get("guardrail_information") else 0.0
    headers = hidden["additional_headers"]
    limits = (
        info.get("tpm") or params.get("tpm"),
        info.get("rpm") or params.get("rpm"),
        *_key_remaining(request_metadata, headers, label_values[MODEL_GROUP_INDEX]),
        *(_limits(headers) if headers else ()),
    )
    shape = int(guardrails > 0)
    for number in (*amounts, *tokens):
        shape = shape << 1 | (1 if number else 0)
    # The signs matter as well: some of these are exported only while something remains.
    for number in (*times, overhead, *limits):
        shape = shape << 2 | (0 if number is None else 1 if number > 0 else 2 if number == 0 else 3)
    seconds = (overhead / 1000 if overhead else None, (overhead or 0.0) / 1000 + guardrails)
    return EventFacts(label_values, shape, (*amounts, *tokens, *times, *seconds, *limits))


MODEL_GROUP_INDEX = 20


def _label_values(
    event: Raw, payload: Raw, params: Raw, info: Raw, answer: object, readers: LiteLLMReaders
) -> tuple[Any, ...]:
    metadata, request_metadata = payload["metadata"], params.get("metadata") or EMPTY
    litellm_metadata = params.get("litellm_metadata")
    key_hash = metadata["user_api_key_hash"]
    if key_hash is not None and key_hash[:3] == "sk-":
        # LiteLLM hashes an unhashed key for some of the series only, so one label value cannot serve them all.
        raise UnsupportedEvent
    zero_cost, tool = payload.get("zero_cost_diagnostic"), metadata.get("mcp_tool_call_metadata")
    tags, usage = payload["request_tags"], metadata.get("usage_object") or EMPTY
    if type(tags) is not list:
        raise UnsupportedEvent
    return (
        event.get("model", ""),
        metadata["user_api_key_user_id"],
        key_hash,
        metadata["user_api_key_alias"],
        metadata["user_api_key_team_id"],
        metadata["user_api_key_team_alias"],
        metadata["user_api_key_user_email"],
        metadata.get("user_api_key_org_id"),
        metadata.get("user_api_key_org_alias"),
        metadata.get("user_api_key_project_id"),
        metadata.get("user_api_key_project_alias"),
        metadata.get("user_api_key_request_route"),
        readers.bound_value("client_ip", metadata.get("requester_ip_address")),
        readers.bound_value("user_agent", metadata.get("user_agent")),
        payload["model_group"],
        payload["model_id"],
        payload["api_base"],
        payload["custom_llm_provider"],
        params.get("custom_llm_provider"),
        info.get("id"),
        ((litellm_metadata or EMPTY) if "litellm_metadata" in event else request_metadata).get("model_group"),
        readers.bound_value("end_user", readers.end_user(params)),
        None if tool is None else tool.get("name"),
        None if tool is None else tool.get("mcp_server_name"),
        (litellm_metadata or request_metadata).get("original_model_group"),
        None if readers.prompt_length_class is None else readers.prompt_length_class(payload, event, answer),
        # Labels end here (`LABEL_COUNT`); the rest decides which series exist.
        readers.tier(payload),
        payload.get("cache_hit"),
        event.get("stream"),
        None if zero_cost is None else zero_cost["reason"],
        tool is None,
        payload.get("stream") if readers.has_stream_label else None,
        None if readers.custom_labels is None else readers.custom_labels(payload),
        None if readers.tag_labels is None else readers.tag_labels(tags),
        litellm_metadata is None,
        # A retry that succeeded still carries the exception of the failed attempt.
        event.get("exception") is not None and readers.skips(event),
        usage.get("cache_read_input_tokens") is None,
        usage.get("cache_creation_input_tokens") is None,
    )


def _amounts(payload: Raw) -> Numbers:
    """Return the cost in dollars and the token counts that every request has."""
    amounts = payload["response_cost"], payload["total_tokens"], payload["prompt_tokens"], payload["completion_tokens"]
    for number in amounts:
        if type(number) not in NUMBER_TYPES or not 0 <= number < MAX_NUMBER:
            raise UnsupportedEvent
    return amounts


def _tokens(usage: Raw | None) -> Numbers:
    """Return the usage that only some requests have: token counts, images, and audio seconds; `None` if absent."""
    if not usage:
        return NO_TOKENS
    prompt, completion = usage.get("prompt_tokens_details") or EMPTY, usage.get("completion_tokens_details") or EMPTY
    cached, written = prompt.get("cached_tokens"), prompt.get(CACHE_WRITE_FIELDS[0])
    if written is None:
        written = prompt.get(CACHE_WRITE_FIELDS[1])
    read, created = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    counts = (
        cached,
        written,
        prompt.get("audio_tokens"),
        completion.get("reasoning_tokens"),
        completion.get("audio_tokens"),
        usage.get("output_image_count"),
        cached if read is None else read,
        written if created is None else created,
    )
    for number in counts:
        if number and (type(number) is not int or number < 0):
            raise UnsupportedEvent
    seconds = usage.get("duration_seconds")
    if seconds and (type(seconds) not in NUMBER_TYPES or not 0 < seconds < MAX_NUMBER):
        raise UnsupportedEvent
    return (*counts, seconds)


NO_TOKENS: Numbers = (None,) * 9


def _times(event: Raw, start: datetime, end: datetime, queued: float | None, completion: int) -> Numbers:
    """Return durations in seconds, `None` if unknown: to the first token, provider, total, queue, per output token."""
    ended, began = event["end_time"], event.get("start_time")
    called, answering = event.get("api_call_start_time"), event.get("completion_start_time")
    first_token = provider = total = per_token = None
    if called is not None:
        provider = (ended - called).total_seconds()
        if answering is not None:
            first_token = (answering - called).total_seconds()
    if began is not None:
        total = (ended - began).total_seconds()
        if queued is not None and queued >= 0:
            total += queued
    if completion:
        took = end - start
        if event.get("stream") is True:
            took = event.get("completion_start_time", end) - start or took
        per_token = took.total_seconds() / completion
    return first_token, provider, total, queued, per_token


def _key_remaining(request_metadata: Raw, headers: Mapping[str, Any] | None, model_group: str | None) -> Numbers:
    """Return the requests and tokens that remain of a key's limits for a model group; `None` if unknown."""
    requests = request_metadata.get(f"litellm-key-remaining-requests-{model_group}")
    tokens = request_metadata.get(f"litellm-key-remaining-tokens-{model_group}")
    if headers:
        requests = headers.get(f"{KEY_REMAINING_HEADER}requests") if requests is None else requests
        tokens = headers.get(f"{KEY_REMAINING_HEADER}tokens") if tokens is None else tokens
    return requests, tokens


def _limits(headers: Mapping[str, Any]) -> Numbers:
    """Return each limit of LiteLLM's limiter and the used amount, then what remains according to the provider."""
    numbers: list[float | None] = []
    for limit_header, remaining_header in LIMITER_HEADERS:
        limit, remaining = headers.get(limit_header), headers.get(remaining_header)
        if limit is None or remaining is None:
            numbers += (None, None)
        elif type(limit) is int and type(remaining) is int:
            numbers += (limit, limit - remaining)
        else:
            raise UnsupportedEvent
    for name in REMAINING_HEADERS:
        remaining = headers.get(name)
        if remaining is not None and type(remaining) is not int:
            raise UnsupportedEvent
        numbers.append(remaining)
    return tuple(numbers)
