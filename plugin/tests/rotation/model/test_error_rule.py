"""Operators' rules for failures: what they match, and what they lead to."""

from __future__ import annotations

from typing import Any

import pytest

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.providers.classifier import classify
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.rotation.model.error_rule import ErrorRule
from litellm_evenkeel.rotation.settings import RotationSettings, check_consistency
from litellm_evenkeel.settings_schema.loader import load

BODY = {"error": {"message": "Project is PAUSED for maintenance", "code": "gateway_403"}}


def classified(*rules: dict[str, Any], status: int = 403, headers: dict[str, str] | None = None) -> Any:
    parsed = [ErrorRule.model_validate(rule) for rule in rules]
    return classify(status, BODY, headers, None, now=1000.0, operator_rules=parsed)


@pytest.mark.parametrize(
    "match",
    [
        {"status": 403},
        {"contains": "project is paused"},
        {"contains": "GATEWAY_403"},
        {"status": 403, "contains": "paused"},
    ],
)
def test_a_rule_matches_a_status_a_message_or_a_code(match: dict[str, Any]) -> None:
    failure = classified({**match, "kind": "quota", "scope": "account", "retry_after": "1h"})
    assert (failure.kind, failure.scope, failure.retry_after) == (FailureKind.QUOTA, FailureScope.ACCOUNT, 3600.0)
    assert failure.reason == "operator's rule 1"


def test_a_rule_that_does_not_match_leaves_the_others_their_turn() -> None:
    failure = classified({"status": 404, "kind": "client"}, {"contains": "paused", "kind": "transient"})
    assert (failure.kind, failure.reason) == (FailureKind.TRANSIENT, "operator's rule 2")
    assert classified({"status": 403, "contains": "absent", "kind": "client"}).reason.startswith("status:")


def test_without_a_length_the_providers_counts() -> None:
    failure = classified({"status": 403, "kind": "quota"}, headers={"retry-after": "30"})
    assert failure.retry_after == 30.0


def test_a_clients_fault_concerns_no_account() -> None:
    assert classified({"status": 403, "kind": "client"}).scope is FailureScope.NOTHING


def test_only_the_beginning_of_a_message_is_searched() -> None:
    body = {"error": {"message": "x" * 1000 + " paused"}}
    rule = ErrorRule.model_validate({"contains": "paused", "kind": "permanent"})
    assert classify(400, body, None, None, now=0.0, operator_rules=[rule]).kind is FailureKind.CLIENT


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"kind": "quota"}, "expected what it matches"),
        ({"status": 403, "kind": "quotta"}, "did you mean quota"),
        ({"status": 403, "kind": "quota", "for": "1h"}, "unknown setting 'for'"),
        ({"status": 403, "kind": "quota", "retry_after": "soon"}, "a duration"),
        ({"status": "many", "kind": "quota"}, "a whole number"),
    ],
)
def test_a_wrong_rule_is_named_with_its_number(rule: dict[str, Any], words: str) -> None:
    good = {"status": 500, "kind": "transient"}
    with pytest.raises(SettingsError) as raised:
        check_consistency(
            load(RotationSettings, {"error_rules": [good, rule]}, "evenkeel.rotation"), "evenkeel.rotation"
        )
    assert "error_rules[2]" in str(raised.value)
    assert words in str(raised.value)
