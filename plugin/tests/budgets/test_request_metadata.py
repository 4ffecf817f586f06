"""Budgets in a request's metadata, and those that are missing there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from litellm_evenkeel.budgets import BudgetEntity, RequestOwners, Source, observations

AT, RESET = 1_000_000.0, datetime(2026, 12, 1, tzinfo=UTC).timestamp()
KEY = {
    "user_api_key_spend": 1.5,
    "user_api_key_max_budget": 10.0,
    "user_api_key_budget_reset_at": "2026-12-01T00:00:00+00:00",
    "user_api_key_alias": "mine",
}
NAMES = (
    *KEY, "user_api_key_team_spend", "user_api_key_team_max_budget", "user_api_key_team_table_max_budget",
    "user_api_key_team_budget_reset_at", "user_api_key_team_alias", "user_api_key_user_spend",
    "user_api_key_user_max_budget", "user_api_key_user_table_max_budget", "user_api_key_user_budget_reset_at",
    "user_api_key_user_alias", "user_api_key_user_email", "user_api_key_org_spend", "user_api_key_org_max_budget",
    "user_api_key_org_alias", "user_api_end_user_max_budget",
)  # fmt: skip
ALL = RequestOwners("k", "t", "u", "o", "c")


def only(metadata: dict[str, Any], ids: RequestOwners, cost: float = 0.0) -> Any:
    (observation,) = observations(metadata, ids, AT, cost)
    return observation.budget


def test_a_key_that_was_looked_up_is_known_wholly_and_its_request_is_spent_too() -> None:
    found = only(KEY, RequestOwners(key="k"), cost=0.5)
    assert (found.maximum, found.spend, found.resets_at, found.alias) == (10.0, 2.0, RESET, "mine")
    assert (found.remaining, found.as_of, found.source) == (8.0, AT, Source.EVENT)
    assert found.is_complete


def test_none_where_it_was_looked_up_says_that_there_is_none() -> None:
    found = only({**KEY, "user_api_key_max_budget": None, "user_api_key_budget_reset_at": None}, RequestOwners(key="k"))
    assert (found.is_unlimited, found.never_resets, found.maximum) == (True, True, None)


def test_none_where_it_was_not_looked_up_says_nothing() -> None:
    found = only({"user_api_key_max_budget": None, "user_api_key_spend": 1.0}, RequestOwners(key="k"))
    assert not found.is_unlimited
    assert not found.never_resets
    assert not found.is_complete
    for ids, metadata in (
        (RequestOwners(team="t"), {"user_api_key_team_max_budget": None, "user_api_key_team_spend": None}),
        (RequestOwners(user="u"), {"user_api_key_user_max_budget": None, "user_api_key_user_spend": None}),
        (RequestOwners(org="o"), {"user_api_key_org_alias": "a"}),
        (RequestOwners(customer="c"), {"user_api_end_user_max_budget": None}),
    ):
        assert not only(metadata, ids).has_values


@pytest.mark.parametrize("whose", ["team", "user"])
def test_a_team_and_a_user_have_the_maximum_of_the_key_row_or_of_their_own(whose: str) -> None:
    ids, at = RequestOwners(**{whose: "x"}), f"user_api_key_{whose}_budget_reset_at"
    row, table = f"user_api_key_{whose}_max_budget", f"user_api_key_{whose}_table_max_budget"
    assert only({row: 5.0, table: 7.0}, ids).maximum == 5.0
    assert only({row: None, table: 7.0}, ids).maximum == 7.0
    found = only({row: None, table: None, at: None}, ids)
    assert (found.maximum, found.is_unlimited, found.never_resets) == (None, True, True)


def test_an_unknown_spend_is_never_zero_whatever_the_request_has_cost() -> None:
    found = only(
        {"user_api_key_user_spend": None, "user_api_key_user_table_max_budget": 5.0}, RequestOwners(user="u"), 0.3
    )
    assert (found.spend, found.remaining) == (None, None)


def test_an_organisation_tells_all_but_when_it_begins_anew() -> None:
    metadata = {
        "user_api_key_org_spend": 2.0,
        "user_api_key_org_max_budget": 9.0,
        "user_api_key_org_alias": "house",
    }
    found = only(metadata, RequestOwners(org="o"))
    assert (found.maximum, found.spend, found.alias, found.resets_at) == (9.0, 2.0, "house", None)
    assert not found.is_complete
    assert only({**metadata, "user_api_key_org_max_budget": None}, RequestOwners(org="o")).is_complete


def test_a_user_has_names_and_a_customer_a_maximum_at_most() -> None:
    told = {"user_api_key_user_alias": "Ann", "user_api_key_user_email": "ann@example.com"}
    found = only(told, RequestOwners(user="u"))
    assert (found.alias, found.email) == ("Ann", "ann@example.com")
    found = only({"user_api_end_user_max_budget": 3}, RequestOwners(customer="c"))
    assert (found.maximum, found.spend) == (3.0, None)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("2026-12-01T00:00:00", RESET),
        ("2026-12-01T00:00:00Z", RESET),
        ("2026-12-01T01:00:00.000+01:00", RESET),
        ("soon", None),
        ("", None),
    ],
)
def test_a_moment_without_a_zone_is_utc_and_what_is_none_is_not_known(told: str, expected: float | None) -> None:
    found = only({**KEY, "user_api_key_budget_reset_at": told}, RequestOwners(key="k"))
    assert found.resets_at == expected
    assert not found.never_resets


def test_nobody_has_no_hint_and_everybody_else_one() -> None:
    assert observations(KEY, RequestOwners(), AT) == ()
    assert observations(KEY, RequestOwners("", None, "", None, ""), AT) == ()
    assert [one.kind for one in observations({}, ALL, AT)] == [
        BudgetEntity.KEY,
        BudgetEntity.TEAM,
        BudgetEntity.USER,
        BudgetEntity.ORG,
        BudgetEntity.CUSTOMER,
    ]
    assert [one.entity_id for one in observations({}, ALL, AT)] == list(ALL)


odd = st.sampled_from(["", "x", "2026-12-01", "9999-12-31T23:59:59-12:00", [], 2**4000, -(2**4000)])
anything = st.none() | st.booleans() | st.integers() | st.floats() | odd


@given(st.dictionaries(st.sampled_from(NAMES), anything))
def test_whatever_custom_authentication_writes_there_nothing_breaks_and_no_value_is_odd(
    metadata: dict[str, Any],
) -> None:
    for observation in observations(metadata, ALL, AT, 0.25):
        budget = observation.budget
        for number in (budget.maximum, budget.spend, budget.resets_at):
            assert number is None or abs(number) < float("inf")
        for name in (budget.alias, budget.email):
            assert name is None or isinstance(name, str)
        assert budget.maximum is None or not budget.is_unlimited
