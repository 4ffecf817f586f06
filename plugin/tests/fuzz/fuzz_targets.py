"""Parsers of what clients, providers, Redis and operators send. Each target takes bytes and checks what it returns."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.budgets.redis import decode as decode_budget
from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.journal.event_parser import Caller, Failure, parse_failure, parse_success
from litellm_evenkeel.providers.classifier import LONGEST_QUOTA, clamp_retry_after, classify
from litellm_evenkeel.providers.error_body import parse_error_body
from litellm_evenkeel.providers.limit_headers import parse_limit_headers
from litellm_evenkeel.providers.response_usage import usage_of_response
from litellm_evenkeel.providers.retry_after import retry_after
from litellm_evenkeel.rotation.affinity.session_key import SessionKeyReader
from litellm_evenkeel.rotation.quota_sharing.cooldown_bus import decode as decode_cooldown
from litellm_evenkeel.rotation.quota_sharing.redis_store import decode_response
from litellm_evenkeel.rotation.settings import AffinitySettings
from litellm_evenkeel.settings import settings
from litellm_evenkeel.support import durations
from litellm_evenkeel.support.redis_address import require_valid_address

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1_800_000_000.0
READER = SessionKeyReader(AffinitySettings())


def headers_of(data: bytes) -> dict[str, str]:
    """Read lines as headers."""
    pairs = (line.partition(":") for line in data.decode("latin-1").split("\n"))
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def tree_of(data: bytes) -> Any:
    """Read JSON; anything else is a text."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("latin-1")


def limit_headers(data: bytes) -> None:
    """Headers with a provider's limits."""
    for reading in parse_limit_headers(headers_of(data), now=NOW):
        assert reading.remaining is None or math.isfinite(reading.remaining)


def waits(data: bytes) -> None:
    """Headers and body that say when to come again."""
    head, _, body = data.partition(b"\n\n")
    seconds = retry_after(headers_of(head), tree_of(body), body.decode("latin-1"), now=NOW)
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)


def error_bodies(data: bytes) -> None:
    """Body of a failed response, as bytes, text and JSON."""
    for body in (data, data.decode("latin-1"), tree_of(data)):
        parse_error_body(body)


def failures(data: bytes) -> None:
    """A whole failed response. No cooldown is longer than the clamp."""
    head, _, body = data.partition(b"\n\n")
    status = [400, 401, 403, 404, 429, 500, 503, 529][len(data) % 8]
    failure = classify(status, body.decode("latin-1"), headers_of(head), "RateLimitError", now=NOW)
    # What the provider asks for has no bound. The cooldown that is made of it has one.
    length = clamp_retry_after(failure.retry_after, failure.kind)
    assert length is None or 0 <= length <= LONGEST_QUOTA


def responses(data: bytes) -> None:
    """Usage in a successful response."""
    usage_of_response(tree_of(data))


def sessions(data: bytes) -> None:
    """A client's request, of which the session is read."""
    tree = tree_of(data)
    request = tree if isinstance(tree, dict) else {"messages": tree, "metadata": {"headers": headers_of(data)}}
    READER.read("gpt-4o", request, request.get("messages"))


def journal_events(data: bytes) -> None:
    """LiteLLM's details of a request, of which a record is made."""
    tree = tree_of(data)
    details = tree if isinstance(tree, dict) else {"standard_logging_object": tree}
    failed = Failure(data.decode("latin-1"), 429)
    for record in (parse_success(details), parse_failure(details, failed, Caller(data, is_known=False), None, NOW)):
        assert record is None or str(record.model).isprintable()


def cooldowns(data: bytes) -> None:
    """A message of another worker."""
    decode_cooldown(data)


def leases(data: bytes) -> None:
    """The answer of the lease script."""
    try:
        decode_response(data.decode("latin-1"), ())
    except (ValueError, StopIteration):
        # An answer that is not the script's is an outage, which the coordinator handles.
        return


def budgets(data: bytes) -> None:
    """A budget that another worker has stored."""
    decode_budget(data)


def settings_sections(data: bytes) -> None:
    """The `evenkeel:` section. Whatever is wrong in it is a SettingsError."""
    tree = tree_of(data)
    try:
        settings(tree, {"EVENKEEL_ROTATION_STRATEGY": data[:20].decode("latin-1").replace("\0", "")})
    except SettingsError:
        return


def addresses(data: bytes) -> None:
    """Addresses of Redis."""
    try:
        require_valid_address(data.decode("latin-1"), "x")
    except SettingsError:
        return


def times(data: bytes) -> None:
    """Durations, numbers and points of time."""
    text = data.decode("latin-1")
    for value in (durations.span(text), durations.number(text), durations.wait(text, NOW)):
        assert value is None or (math.isfinite(value) and value >= 0)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        limit_headers,
        waits,
        error_bodies,
        failures,
        responses,
        sessions,
        journal_events,
        cooldowns,
        leases,
        budgets,
        settings_sections,
        addresses,
        times,
    )
}
