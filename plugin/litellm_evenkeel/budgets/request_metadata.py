"""Observations of budgets from a request's metadata. They are read for each success event, so they must be cheap.

LiteLLM's authentication adds what it has looked up (`user_api_key_*`). A missing name was not looked up; a name with
`None` was, and has no value. The spend is an exception: `None` there means unknown, never zero.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CACHED_TIMESTAMPS = 4096
_MISSING: Any = object()
_KEY, _TEAM, _USER = BudgetEntity.KEY, BudgetEntity.TEAM, BudgetEntity.USER
_ORG, _CUSTOMER = BudgetEntity.ORG, BudgetEntity.CUSTOMER
_EVENT = Source.EVENT


class RequestOwners(NamedTuple):
    """Ids of the entities that pay for a request. `None`, an empty text or another type means that there is none."""

    key: str | None = None
    team: str | None = None
    user: str | None = None
    org: str | None = None
    customer: str | None = None


class BudgetObservation(NamedTuple):
    """Observation of one budget, with its entity."""

    kind: BudgetEntity
    entity_id: str
    budget: Budget


def observations(
    metadata: Mapping[str, Any], owners: RequestOwners, ended_at: float, cost: float = 0.0
) -> tuple[BudgetObservation, ...]:
    """Return an observation for each owner of a request, even if nothing is known of its budget.

    `metadata` comes from LiteLLM's `litellm_params`, and `ended_at` is in seconds since 1970. `cost` (dollars) is added
    to each known spend, because authentication read the spend before the request.
    """
    key, team, user, org, customer = owners
    get = metadata.get
    observed: list[BudgetObservation] = []
    if key.__class__ is str and key:
        observed.append(_key(get, key, ended_at, cost))
    if team.__class__ is str and team:
        observed.append(_team_or_user(_TEAM, _TEAM_NAMES, get, team, ended_at, cost))
    if user.__class__ is str and user:
        observed.append(_team_or_user(_USER, _USER_NAMES, get, user, ended_at, cost))
    if org.__class__ is str and org:
        observed.append(_org(get, org, ended_at, cost))
    if customer.__class__ is str and customer:
        # The metadata has no spend of customers. A maximum of `None` does not mean unlimited: it may be not looked up.
        budget = Budget(ended_at, _EVENT, number(get("user_api_end_user_max_budget")))
        observed.append(BudgetObservation(_CUSTOMER, customer, budget))
    return tuple(observed)


def _key(get: Any, entity_id: str, ended_at: float, cost: float) -> BudgetObservation:
    spend, reset_at = number(get("user_api_key_spend")), get("user_api_key_budget_reset_at", _MISSING)
    limit = get("user_api_key_max_budget", _MISSING)
    budget = Budget(
        ended_at,
        _EVENT,
        number(limit),
        None if spend is None else spend + cost,
        timestamp(reset_at) if reset_at.__class__ is str else None,
        text(get("user_api_key_alias")),
        None,
        True,  # noqa: FBT003 - by position it costs less
        limit is None and reset_at is not _MISSING,
        reset_at is None,
    )
    return BudgetObservation(_KEY, entity_id, budget)


_TEAM_NAMES = (
    "user_api_key_team_spend",
    "user_api_key_team_budget_reset_at",
    "user_api_key_team_max_budget",
    "user_api_key_team_table_max_budget",
    "user_api_key_team_alias",
    None,
)
_USER_NAMES = (
    "user_api_key_user_spend",
    "user_api_key_user_budget_reset_at",
    "user_api_key_user_max_budget",
    "user_api_key_user_table_max_budget",
    "user_api_key_user_alias",
    "user_api_key_user_email",
)


def _team_or_user(
    kind: BudgetEntity,
    names: tuple[str, str, str, str, str, str | None],
    get: Any,
    entity_id: str,
    ended_at: float,
    cost: float,
) -> BudgetObservation:
    spend_name, reset_name, maximum_name, table_name, alias_name, email_name = names
    spend, reset_at = number(get(spend_name)), get(reset_name, _MISSING)
    maximum, is_unlimited = number(get(maximum_name)), False
    if maximum is None:
        # The key's row may have been read without its team or user. Only their own rows show that there is no maximum.
        table_maximum = get(table_name, _MISSING)
        maximum, is_unlimited = number(table_maximum), table_maximum is None
    budget = Budget(
        ended_at,
        _EVENT,
        maximum,
        None if spend is None else spend + cost,
        timestamp(reset_at) if reset_at.__class__ is str else None,
        text(get(alias_name)),
        None if email_name is None else text(get(email_name)),
        True,  # noqa: FBT003 - as above
        is_unlimited,
        reset_at is None,
    )
    return BudgetObservation(kind, entity_id, budget)


def _org(get: Any, entity_id: str, ended_at: float, cost: float) -> BudgetObservation:
    spend, limit = number(get("user_api_key_org_spend")), get("user_api_key_org_max_budget", _MISSING)
    # The metadata never has the reset time of an organisation.
    budget = Budget(
        ended_at,
        _EVENT,
        number(limit),
        None if spend is None else spend + cost,
        None,
        text(get("user_api_key_org_alias")),
        None,
        True,  # noqa: FBT003 - as above
        limit is None,
    )
    return BudgetObservation(_ORG, entity_id, budget)


def number(value: Any) -> float | None:
    """Return a finite number, or `None` for anything else: custom authentication may set values of any type."""
    if type(value) is float:
        return value if -math.inf < value < math.inf else None
    if type(value) is int:
        return float(value) if abs(value) < 10**300 else None
    return None


def text(value: Any) -> str | None:
    """Return a text, or `None` for anything else."""
    return value if type(value) is str else None


@lru_cache(MAX_CACHED_TIMESTAMPS)
def timestamp(iso: str) -> float | None:
    """Return an ISO 8601 time in seconds since 1970, or `None`. Cached, because the same few reset times repeat."""
    try:
        moment = datetime.fromisoformat(iso)
        # LiteLLM's database stores times without a zone, in UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
