"""Inputs for the parsers: realistic ones, and mutations of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

COOLDOWN = {
    "v": 2,
    "from": "w",
    "account": "a",
    "model": None,
    "kind": "rate_limit",
    "reason": "r",
    "until": 1800000060.5,
    "provider_stated": True,
    "credential": "c",
}
SECTION = {
    "rotation": {
        "strategy": "headroom",
        "cooldown": {"initial": "10s", "max": "5m"},
        "accounts": {"a": {"limits": {"rpm": 500, "windows": [{"for": "5h", "requests": 200}]}}},
    },
    "budgets": {"ttl": "30s"},
    "journal": {"store": "sqlite"},
}
EVENT = {
    "startTime": 1.0,
    "endTime": 2.0,
    "model_group": "m",
    "status": "success",
    "metadata": {"user_api_key_hash": "h"},
    "response_cost": 0.1,
}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


SEEDS: tuple[bytes, ...] = (
    b"x-ratelimit-limit-requests: 500\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 1m30.5s",
    b"anthropic-ratelimit-unified-5h-utilization: 0.98\nanthropic-ratelimit-unified-5h-reset: 1800000300",
    b"anthropic-ratelimit-tokens-remaining: 0\nanthropic-ratelimit-tokens-reset: 2027-01-15T08:00:10Z",
    b"retry-after: Fri, 15 Jan 2027 08:00:30 GMT\nretry-after-ms: 1500\n\n{}",
    b'retry-after: 20\n\n{"error": {"message": "Rate limit reached. Please try again in 6m0s.", "code": 429}}',
    b'\n\n{"error": {"type": "usage_limit_reached", "resets_at": 1800003600, "resets_in_seconds": 3600}}',
    (
        b'\n\n[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/'
        b'google.rpc.RetryInfo", "retryDelay": "33.1s"}]}}]'
    ),
    b"litellm.RateLimitError: OpenAIException - Error code: 429 - {'error': {'message': 'Limit', 'type': 'requests'}}",
    b"<html><head><title>502 Bad Gateway</title></head></html>",
    b'{"usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}}',
    (
        b'{"model": "m", "messages": [{"role": "system", "content": "You are"}, {"role": "user", "content": [{"type": '
        b'"text", "text": "hi"}]}], "user": "u", "prompt_cache_key": "k", "previous_response_id": "r"}'
    ),
    _json(COOLDOWN),
    b"1800000000.25 0a1b2c 1799999999 4 225000000 12 488 0 2 0",
    b'[1, 1800000000.0, 10.0, 2.5, 1800086400.0, "alias", "a@example.com", true, false, false]',
    _json(SECTION),
    b"redis+sentinel://user:p%40ss@host:26379,[::1]:26380/main/0?sentinel_password=x",
    b"1h30m",
    b"2027-01-15T08:00:00+01:00",
    _json({"standard_logging_object": EVENT}),
)
TOKENS: tuple[bytes, ...] = (
    *(b"{", b"}", b"[", b"]", b'"', b"'", b":", b",", b"\\", b"\n", b"\r\n", b"\0", b" ", b"%", b"@", b"/", b"=", b";"),
    *(b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"1e308", b"99999999999999999999", b"0x10", b"1_000"),
    *(b"null", b"true", b"false", b"None", b"error", b"message", b"code", b"retry-after", b"reset", b"\xff\xfe"),
    *("\ud7ff٣½\u2028".encode(), b"Thu, 01 Jan 1970 00:00:00 GMT", b"Fri, 31 Dec 9999 23:59:59 GMT", b"T", b"Z", b"d"),
)
LONGEST = 20_000


def mutated(draw: Random) -> bytes:
    """Return a mutation of one or two of the seeds."""
    data = bytearray(draw.choice(SEEDS))
    for _ in range(draw.choice((0, 1, 1, 2, 4, 8))):
        at = draw.randrange(len(data) + 1)
        match draw.randrange(6):
            case 0:
                data[at:at] = draw.choice(TOKENS)
            case 1:
                del data[at : at + draw.randrange(1, 12)]
            case 2 if at < len(data):
                data[at] = draw.randrange(256)
            case 3:
                data[at:at] = data[at : at + draw.randrange(1, 40)] * draw.choice((1, 2, 50))
            case 4:
                data[at:] = draw.choice(SEEDS)[draw.randrange(20) :]
            case _:
                data[at:at] = draw.choice(TOKENS) * draw.choice((1, 3, 300))
    return bytes(data[:LONGEST])
