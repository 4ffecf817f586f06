"""What the rotation leaves with a request, for others who look at it: which account it chose, and why.

LiteLLM's logging object of a request is what no client can choose, and what its events tell; there it hangs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUEST_KEY = "evenkeel_call"


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """The last choice."""

    account: str
    reason: str
    attempt: int
    """Which attempt of the request it was, from 1."""


def routing_decision_of(details: Mapping[str, object]) -> RoutingDecision | None:
    """Return what was chosen for the request that an event tells of; None without the rotation."""
    found = getattr(details.get(REQUEST_KEY), "picked", None)
    return found if isinstance(found, RoutingDecision) else None
