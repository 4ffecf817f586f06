"""Events about picks on the spans of traced requests."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.pick_event import EVENT, add_event, span_of
from litellm_evenkeel.rotation.selection.pick import NoCapacity, Pick, PickReason


class Span:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def add_event(self, name: str, attributes: dict[str, Any]) -> None:
        self.events.append((name, attributes))


def test_a_pick_names_its_account_and_reason() -> None:
    span, deployment = Span(), SimpleNamespace(spec=DeploymentSpec("id", "north", "m"))
    pick = Pick(deployment, 0, None, PickReason.PINNED)  # type: ignore[arg-type]
    add_event(span, "chat", pick, 0.25)
    ((name, attributes),) = span.events
    assert name == EVENT
    assert attributes == {
        "evenkeel.model": "chat",
        "evenkeel.seconds": 0.25,
        "evenkeel.account": "north",
        "evenkeel.reason": "pinned",
    }


def test_a_rejection_names_its_blocker() -> None:
    span = Span()
    add_event(span, "chat", NoCapacity(math.inf, Blocker(BlockReason.PAUSED, math.inf, "")), 0.0)
    add_event(span, "chat", NoCapacity(math.inf, None), 0.0)
    assert [attributes.get("evenkeel.blocker") for _, attributes in span.events] == ["paused", None]


@pytest.mark.parametrize("name", ["metadata", "litellm_metadata"])
def test_the_span_is_handed_over_or_in_the_request(name: str) -> None:
    span = Span()
    assert span_of({}, span) is span
    assert span_of({name: {"litellm_parent_otel_span": span}}, None) is span
    assert span_of({name: {"litellm_parent_otel_span": None}}, None) is None
    assert span_of({name: "no mapping"}, None) is None
    assert span_of({}, None) is None
