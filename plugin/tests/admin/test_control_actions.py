"""Actions of operators: the controls that they make, and wrong parameters."""

from __future__ import annotations

from typing import Any

import pytest

from litellm_evenkeel.admin.control_actions import Action, parse_action
from litellm_evenkeel.errors import AdminRequestError
from litellm_evenkeel.rotation.model.control import Control, ControlKind, Traffic

NOW = 1000.0


def parsed(action: Action, **parameters: Any) -> Control | None:
    return parse_action(action, "north", parameters, "anna", NOW)[1]


def test_a_pause_has_an_end_an_author_and_a_reason() -> None:
    control = parsed(Action.PAUSE, **{"for": "2h", "reason": "key is replaced"})
    assert control == Control(
        account="north",
        kind=ControlKind.TRAFFIC,
        traffic=Traffic.PAUSED,
        until=NOW + 7200,
        by="anna",
        reason="key is replaced",
    )
    drain = parsed(Action.DRAIN)
    assert drain is not None
    assert (drain.traffic, drain.until) == (Traffic.DRAINING, None)


def test_priorities_and_weights_may_be_texts_or_numbers() -> None:
    priority, weight = parsed(Action.PRIORITY, value="3"), parsed(Action.WEIGHT, value=0.5)
    assert priority is not None
    assert weight is not None
    assert (priority.number, weight.number) == (3, 0.5)


@pytest.mark.parametrize("action", [Action.PRIORITY, Action.WEIGHT])
def test_the_default_withdraws_a_priority_or_a_weight(action: Action) -> None:
    assert parse_action(action, "north", {"value": "default"}, "anna", NOW) == (("north", ControlKind(action)), None)
    assert parse_action(Action.RESUME, "north", {}, "anna", NOW) == (("north", ControlKind.TRAFFIC), None)


@pytest.mark.parametrize(
    ("action", "parameters", "words"),
    [
        (Action.PAUSE, {"value": "2"}, "There is no parameter 'value'"),
        (Action.PAUSE, {"fro": "2h"}, "Did you mean for?"),
        (Action.PAUSE, {"for": "soon"}, "for=30m"),
        (Action.PAUSE, {"for": "0"}, "for=30m"),
        (Action.PAUSE, {"for": "1000d"}, "up to a year"),
        (Action.PAUSE, {"for": ["1h", "2h"]}, "for=30m"),
        (Action.PAUSE, {"reason": 5}, "reason=TEXT"),
        (Action.RESUME, {"for": "2h"}, "Leave it out"),
        (Action.PRIORITY, {}, "value=2"),
        (Action.PRIORITY, {"value": "1.5"}, "a whole number"),
        (Action.PRIORITY, {"value": "-1"}, "a whole number"),
        (Action.WEIGHT, {"value": 0}, "a number above 0"),
        (Action.WEIGHT, {"value": "much"}, "a number above 0"),
        (Action.WEIGHT, {"value": "default", "for": "2h"}, "Leave it out"),
    ],
)
def test_a_wrong_parameter_is_refused_with_a_hint(action: Action, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(AdminRequestError) as raised:
        parse_action(action, "north", parameters, "anna", NOW)
    assert words in str(raised.value)
