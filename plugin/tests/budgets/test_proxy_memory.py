"""Budgets from the proxy's own caches. Rows have the form of LiteLLM 1.106."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from litellm_evenkeel.budgets import BudgetEntity, Source, budget_of, counter_name, row_name

NOW, RESET = 1_000_000.0, datetime(2026, 12, 1, tzinfo=UTC).timestamp()
HASH = "0123456789abcdef" * 4
ROW = {"spend": 3.0, "max_budget": 10.0, "budget_reset_at": "2026-12-01T00:00:00Z", "last_refreshed_at": NOW - 9.0}


def test_rows_and_counters_lie_under_litellms_names() -> None:
    assert row_name(BudgetEntity.KEY, HASH) == HASH
    assert row_name(BudgetEntity.TEAM, "t") == "team_id:t"
    assert row_name(BudgetEntity.USER, "u") == "u"
    assert row_name(BudgetEntity.ORG, "o") == "org_id:o:with_budget"
    assert row_name(BudgetEntity.CUSTOMER, "c") == "end_user_id:c"
    assert counter_name(BudgetEntity.KEY, HASH) == f"spend:key:{HASH}"
    assert counter_name(BudgetEntity.CUSTOMER, "c") == "spend:end_user:c"


def test_a_user_who_is_called_like_a_key_is_not_taken_for_one() -> None:
    assert row_name(BudgetEntity.USER, HASH) is None
    assert row_name(BudgetEntity.KEY, "u") is None
    assert row_name(BudgetEntity.PROVIDER, "openai") is None
    assert counter_name(BudgetEntity.PROVIDER, "openai") is None


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (BudgetEntity.KEY, {"key_alias": "a"}),
        (BudgetEntity.TEAM, {"team_alias": "a"}),
        (BudgetEntity.USER, {"user_alias": "a", "user_email": "a@example.com"}),
    ],
)
def test_a_row_tells_all_as_of_when_it_was_read(kind: BudgetEntity, names: dict[str, str]) -> None:
    found = budget_of(kind, {**ROW, **names}, None, NOW)
    assert found
    assert (found.remaining, found.resets_at, found.alias, found.as_of) == (7.0, RESET, "a", NOW - 9.0)
    assert found.email == names.get("user_email")
    assert found.is_complete
    assert found.source is Source.PROCESS


def test_a_counter_is_newer_than_any_row() -> None:
    found = budget_of(BudgetEntity.TEAM, ROW, 4.5, NOW)
    assert found
    assert (found.spend, found.maximum, found.as_of) == (4.5, 10.0, NOW)
    alone = budget_of(BudgetEntity.TEAM, None, 4.5, NOW)
    assert alone
    assert (alone.spend, alone.maximum, alone.is_unlimited) == (4.5, None, False)


def test_a_row_that_does_not_say_since_when_is_as_old_as_one_may_be() -> None:
    found = budget_of(BudgetEntity.USER, {**ROW, "last_refreshed_at": None}, None, NOW)
    assert found
    assert found.as_of == NOW - 60.0


@pytest.mark.parametrize("kind", [BudgetEntity.ORG, BudgetEntity.CUSTOMER])
def test_who_has_a_budget_elsewhere_is_known_only_with_it(kind: BudgetEntity) -> None:
    def found(**row: Any) -> Any:
        return budget_of(kind, {"spend": 3.0, **row}, None, NOW)

    assert found(litellm_budget_table={"max_budget": 10.0, "budget_reset_at": None}).is_complete
    # Its reset is left out of what is kept of some budgets.
    assert not found(litellm_budget_table={"max_budget": 10.0}).is_complete
    assert found(litellm_budget_table=None).is_unlimited
    without = found(max_budget=5.0)
    assert (without.maximum, without.is_unlimited, without.spend) == (None, False, 3.0)


@pytest.mark.parametrize("row", [None, "overflow", [], 7])
def test_what_is_no_row_tells_nothing(row: object) -> None:
    assert budget_of(BudgetEntity.TEAM, row, None, NOW) is None
    assert budget_of(BudgetEntity.TEAM, row, "odd", NOW) is None


def test_a_spend_of_none_is_never_zero() -> None:
    found = budget_of(BudgetEntity.TEAM, {**ROW, "spend": None}, None, NOW)
    assert found
    assert (found.spend, found.remaining) == (None, None)
