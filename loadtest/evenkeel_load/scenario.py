"""Scenarios: the names of locustfiles in `loadtest/scenarios`, and the defaults of their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Scenario:
    """A load with a name. What it sends is written in the locustfile of that name."""

    name: str
    about: str = ""
    calls: tuple[str, ...] = ()
    """The names of its tasks, which are the kinds of requests in its records."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Options with another default than usual, by field."""
    until_errors: bool = False
    """Whether a ladder of users ends with the first step that has errors."""


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("chat", "chat completions, answered whole", ("chat",), {"users": (100,), "requests": 1000}),
        Scenario(
            "stream",
            "chat completions in chunks, each of them timed",
            ("stream",),
            {"users": (10, 25, 50), "requests": 50},
        ),
        Scenario(
            "compact",
            "small bodies at 20, 50 and 100 at a time, until errors appear",
            ("compact",),
            {"users": (20, 50, 100), "requests": 200, "payload_bytes": 16, "max_tokens": 8},
            until_errors=True,
        ),
        Scenario(
            "mixed",
            "chat, streams and embeddings",
            ("chat", "stream", "embeddings"),
            {"users": (20,), "requests": 1000},
        ),
        Scenario(
            "soak",
            "the mixture, an hour long at a low rate",
            ("chat", "stream", "embeddings"),
            {"users": (100,), "arrivals": "constant", "rate": 5.0, "duration": 3600.0},
        ),
    )
}
