"""What is sent: which endpoints, in what proportion, and with what defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evenkeel_load.draws import Mix

CHAT_PATH, EMBEDDINGS_PATH = "/v1/chat/completions", "/v1/embeddings"


@dataclass(frozen=True)
class Call:
    """One kind of request."""

    name: str
    path: str = CHAT_PATH
    stream: bool = False


CHAT, STREAM, COMPACT = Call("chat"), Call("stream", stream=True), Call("compact")
EMBEDDINGS = Call("embeddings", EMBEDDINGS_PATH)


@dataclass(frozen=True)
class Scenario:
    """A named load."""

    name: str
    about: str
    calls: Mix[Call]
    defaults: dict[str, Any] = field(default_factory=dict)
    """Of options, where they differ from the usual ones."""
    until_errors: bool = False
    """Whether the step with the first errors is the last one."""


def _of(name: str, about: str, weights: dict[Call, float], *, until_errors: bool = False, **defaults: Any) -> Scenario:
    return Scenario(name, about, Mix("call", tuple(weights), tuple(weights.values())), defaults, until_errors)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        _of("chat", "chat completions, answered whole", {CHAT: 1}, users=(100,), requests=1000),
        _of("stream", "chat completions in chunks, each of them timed", {STREAM: 1}, users=(10, 25, 50), requests=50),
        _of(
            "compact",
            "small bodies at 20, 50 and 100 at a time, until errors appear",
            {COMPACT: 1},
            until_errors=True,
            users=(20, 50, 100),
            requests=200,
            payload_bytes=16,
            max_tokens=8,
        ),
        _of("mixed", "chat, streams and embeddings", {CHAT: 6, STREAM: 3, EMBEDDINGS: 1}, users=(20,), requests=1000),
        _of(
            "soak",
            "the mixture, an hour long at a low rate",
            {CHAT: 6, STREAM: 3, EMBEDDINGS: 1},
            users=(100,),
            arrivals="constant",
            rate=5.0,
            duration=3600.0,
        ),
    )
}
"""All there are, by name."""
