"""What a success event says that any series needs: who and where as text, how much as numbers, and nothing else of it.

LiteLLM's dictionaries hold messages and answers and are changed later, so nothing of them is kept. Numbers are told as
its series take them: durations as seconds, limits as what is used of them. All of it is read for each request, so it is
read straight on; an event of another form brings about whatever error it does, and is left to LiteLLM's own code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

Raw: TypeAlias = dict[str, Any]
Numbers: TypeAlias = tuple[float | None, ...]

WHO = (
    "user_api_key_user_id",
    "user_api_key_hash",
    "user_api_key_alias",
    "user_api_key_team_id",
    "user_api_key_team_alias",
    "user_api_key_user_email",
)
"""What the metadata of each event says; one that lacks any of it is none that LiteLLM counts."""
MORE = (
    "user_api_key_org_id",
    "user_api_key_org_alias",
    "user_api_key_project_id",
    "user_api_key_project_alias",
    "user_api_key_request_route",
    "requester_ip_address",
    "user_agent",
)
WHERE = ("model_group", "model_id", "api_base", "custom_llm_provider")
# The limits that LiteLLM's own limiter tells of: which, and what is counted.
LIMITED = tuple(
    (f"x-ratelimit-{one}-limit-{unit}", f"x-ratelimit-{one}-remaining-{unit}")
    for one, unit in (
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
LEFT = ("x_ratelimit_remaining_requests", "x_ratelimit_remaining_tokens")
"""What providers say is left."""
KEY_LEFT = "x-ratelimit-model_per_key-remaining-"
WRITTEN = ("cache_write_tokens", "cache_creation_tokens")
PLAIN = frozenset({int, float})
LARGEST = 1e300
NOTHING: Raw = {}
LABELS = 26
"""So many of `Facts.who` are labels, those that come first; the others decide which series there are."""


class UnsupportedEvent(Exception):
    """An event that is not like others."""


class EventFacts(NamedTuple):
    """One event."""

    label_values: tuple[Any, ...]
    """All that is text."""
    shape: int
    """Which numbers there are, and which of them are nothing."""
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class LiteLLMReaders:
    """How LiteLLM itself reads what depends on its settings."""

    end_user: Callable[[Raw], str | None]
    """From the parameters of a request."""
    tier: Callable[[Raw], str | None]
    is_skipped: Callable[[Raw], bool]
    """Whether it is none that LiteLLM counts, by the error that came with it."""
    guardrails: Callable[[Raw], float]
    """Seconds that they took, from the payload."""
    bounded: Callable[[str, Any], Any] = lambda _name, value: value
    """What is told for a label's value, by the label's name."""
    custom: Callable[[Raw], tuple[tuple[str, str], ...]] | None = None
    """Labels of an operator's own, from the payload; None if there are none."""
    tags: Callable[[Any], tuple[tuple[str, str], ...]] | None = None
    tells_stream: bool = False
    length: Callable[[Raw, Raw, object], str] | None = None
    """How long the prompt was, as a class."""


def read(event: Raw, answer: object, start: datetime, end: datetime, readers: LiteLLMReaders) -> EventFacts:
    """Return what an event says."""
    payload = event["standard_logging_object"]
    params = event.get("litellm_params") or NOTHING
    asked, hidden = params.get("metadata") or NOTHING, payload["hidden_params"]
    info = (params.get("litellm_metadata") or asked).get("model_info") or NOTHING
    who = _who(event, payload, params, info, answer, readers)
    amounts = _amounts(payload)
    tokens = _tokens(payload["metadata"].get("usage_object"))
    times = _times(event, start, end, asked.get("queue_time_seconds"), payload["completion_tokens"])
    overhead = hidden.get("litellm_overhead_time_ms")
    guarded = readers.guardrails(payload) if payload.get("guardrail_information") else 0.0
    headers = hidden["additional_headers"]
    limits = (
        info.get("tpm") or params.get("tpm"),
        info.get("rpm") or params.get("rpm"),
        *_left_of_key(asked, headers, who[GROUP]),
        *(_limits(headers) if headers else ()),
    )
    shape = int(guarded > 0)
    for number in (*amounts, *tokens):
        shape = shape << 1 | (1 if number else 0)
    # Their signs matter as well: some of them are only told when there is something left.
    for number in (*times, overhead, *limits):
        shape = shape << 2 | (0 if number is None else 1 if number > 0 else 2 if number == 0 else 3)
    seconds = (overhead / 1000 if overhead else None, (overhead or 0.0) / 1000 + guarded)
    return EventFacts(who, shape, (*amounts, *tokens, *times, *seconds, *limits))


GROUP = 20


def _who(event: Raw, payload: Raw, params: Raw, info: Raw, answer: object, readers: LiteLLMReaders) -> tuple[Any, ...]:
    metadata, asked, beside = payload["metadata"], params.get("metadata") or NOTHING, params.get("litellm_metadata")
    key_hash = metadata["user_api_key_hash"]
    if key_hash is not None and key_hash[:3] == "sk-":
        # It is hashed for some of the series.
        raise UnsupportedEvent
    zero_cost, tool = payload.get("zero_cost_diagnostic"), metadata.get("mcp_tool_call_metadata")
    tags, usage = payload["request_tags"], metadata.get("usage_object") or NOTHING
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
        readers.bounded("client_ip", metadata.get("requester_ip_address")),
        readers.bounded("user_agent", metadata.get("user_agent")),
        payload["model_group"],
        payload["model_id"],
        payload["api_base"],
        payload["custom_llm_provider"],
        params.get("custom_llm_provider"),
        info.get("id"),
        ((beside or NOTHING) if "litellm_metadata" in event else asked).get("model_group"),
        readers.bounded("end_user", readers.end_user(params)),
        None if tool is None else tool.get("name"),
        None if tool is None else tool.get("mcp_server_name"),
        (beside or asked).get("original_model_group"),
        None if readers.length is None else readers.length(payload, event, answer),
        # From here on, what decides.
        readers.tier(payload),
        payload.get("cache_hit"),
        event.get("stream"),
        None if zero_cost is None else zero_cost["reason"],
        tool is None,
        payload.get("stream") if readers.tells_stream else None,
        None if readers.custom is None else readers.custom(payload),
        None if readers.tags is None else readers.tags(tags),
        beside is None,
        # A retry that came to something still has what came before.
        event.get("exception") is not None and readers.is_skipped(event),
        usage.get("cache_read_input_tokens") is None,
        usage.get("cache_creation_input_tokens") is None,
    )


def _amounts(payload: Raw) -> Numbers:
    """Return what each request costs."""
    found = payload["response_cost"], payload["total_tokens"], payload["prompt_tokens"], payload["completion_tokens"]
    for number in found:
        if type(number) not in PLAIN or not 0 <= number < LARGEST:
            raise UnsupportedEvent
    return found


def _tokens(usage: Raw | None) -> Numbers:
    """Return what only some requests use."""
    if not usage:
        return NO_TOKENS
    asked, told = usage.get("prompt_tokens_details") or NOTHING, usage.get("completion_tokens_details") or NOTHING
    cached, written = asked.get("cached_tokens"), asked.get(WRITTEN[0])
    if written is None:
        written = asked.get(WRITTEN[1])
    read, created = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    found = (
        cached,
        written,
        asked.get("audio_tokens"),
        told.get("reasoning_tokens"),
        told.get("audio_tokens"),
        usage.get("output_image_count"),
        cached if read is None else read,
        written if created is None else created,
    )
    for number in found:
        if number and (type(number) is not int or number < 0):
            raise UnsupportedEvent
    seconds = usage.get("duration_seconds")
    if seconds and (type(seconds) not in PLAIN or not 0 < seconds < LARGEST):
        raise UnsupportedEvent
    return (*found, seconds)


NO_TOKENS: Numbers = (None,) * 9


def _times(event: Raw, start: datetime, end: datetime, queued: float | None, completion: int) -> Numbers:
    """Return how long it took: to the first token, at the provider, in all, before it began, and for each token."""
    ended, began = event["end_time"], event.get("start_time")
    called, answering = event.get("api_call_start_time"), event.get("completion_start_time")
    first = of_provider = in_all = a_token = None
    if called is not None:
        of_provider = (ended - called).total_seconds()
        if answering is not None:
            first = (answering - called).total_seconds()
    if began is not None:
        in_all = (ended - began).total_seconds()
        if queued is not None and queued >= 0:
            in_all += queued
    if completion:
        took = end - start
        if event.get("stream") is True:
            took = event.get("completion_start_time", end) - start or took
        a_token = took.total_seconds() / completion
    return first, of_provider, in_all, queued, a_token


def _left_of_key(asked: Raw, headers: Mapping[str, Any] | None, group: str | None) -> Numbers:
    requests = asked.get(f"litellm-key-remaining-requests-{group}")
    tokens = asked.get(f"litellm-key-remaining-tokens-{group}")
    if headers:
        requests = headers.get(f"{KEY_LEFT}requests") if requests is None else requests
        tokens = headers.get(f"{KEY_LEFT}tokens") if tokens is None else tokens
    return requests, tokens


def _limits(headers: Mapping[str, Any]) -> Numbers:
    """Return each limit with what is used of it, and what the provider says is left."""
    found: list[float | None] = []
    for limited in LIMITED:
        limit, remaining = headers.get(limited[0]), headers.get(limited[1])
        if limit is None or remaining is None:
            found += (None, None)
        elif type(limit) is int and type(remaining) is int:
            found += (limit, limit - remaining)
        else:
            raise UnsupportedEvent
    for name in LEFT:
        left = headers.get(name)
        if left is not None and type(left) is not int:
            raise UnsupportedEvent
        found.append(left)
    return tuple(found)
