"""Routing decision of a request, which the rotation publishes for other callbacks such as the journal.

It is stored in the details of LiteLLM's logging object, which every event contains and which no client can set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUEST_KEY = "evenkeel_call"


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """The pick for a request's last attempt."""

    account: str
    reason: str
    attempt: int
    """Number of the attempt, from 1."""


def routing_decision_of(details: Mapping[str, object]) -> RoutingDecision | None:
    """Return the routing decision from an event's details, or `None` if the rotation is not in use."""
    decision = getattr(details.get(REQUEST_KEY), "picked", None)
    return decision if isinstance(decision, RoutingDecision) else None
