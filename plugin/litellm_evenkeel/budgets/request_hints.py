"""What a request's metadata tells of budgets. It is read for each success event: nothing here may cost much.

Authentication writes there what it has looked up (`user_api_key_*`). A name that is missing was not looked up; one that
is there with None was, and there is no such value. But a spend of None is never zero: it is what nobody has looked up.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_MOMENTS = 4096
_MISSING: Any = object()
_KEY, _TEAM, _USER, _ORG, _CUSTOMER = (
    BudgetEntity.KEY,
    BudgetEntity.TEAM,
    BudgetEntity.USER,
    BudgetEntity.ORG,
    BudgetEntity.CUSTOMER,
)
_EVENT = Source.EVENT


class RequestOwners(NamedTuple):
    """Whose request it was; what is None, empty or no text is nobody's."""

    key: str | None = None
    team: str | None = None
    user: str | None = None
    org: str | None = None
    customer: str | None = None


class BudgetObservation(NamedTuple):
    """What one request tells of one budget."""

    kind: BudgetEntity
    entity_id: str
    budget: Budget


def observations(
    metadata: Mapping[str, Any], ids: RequestOwners, at: float, cost: float = 0.0
) -> tuple[BudgetObservation, ...]:
    """Return a hint for everybody whose request it was, even if it tells nothing.

    `metadata` is what stands in LiteLLM's `litellm_params`, `at` when the request ended, and `cost` what it added to
    every spend that is known: authentication has read them before.
    """
    key, team, user, org, customer = ids
    get = metadata.get
    found: list[BudgetObservation] = []
    if key.__class__ is str and key:
        found.append(_key(get, key, at, cost))
    if team.__class__ is str and team:
        found.append(_team(get, team, at, cost))
    if user.__class__ is str and user:
        found.append(_user(get, user, at, cost))
    if org.__class__ is str and org:
        found.append(_org(get, org, at, cost))
    if customer.__class__ is str and customer:
        # What it has spent is not carried; None is written where its maximum was not looked up, too.
        budget = Budget(at, _EVENT, number(get("user_api_end_user_max_budget")))
        found.append(BudgetObservation(_CUSTOMER, customer, budget))
    return tuple(found)


def _key(get: Any, who: str, at: float, cost: float) -> BudgetObservation:
    spend, told = number(get("user_api_key_spend")), get("user_api_key_budget_reset_at", _MISSING)
    limit = get("user_api_key_max_budget", _MISSING)
    budget = Budget(
        at,
        _EVENT,
        number(limit),
        None if spend is None else spend + cost,
        moment(told) if told.__class__ is str else None,
        text(get("user_api_key_alias")),
        None,
        True,  # noqa: FBT003 - by position it costs less
        limit is None and told is not _MISSING,
        told is None,
    )
    return BudgetObservation(_KEY, who, budget)


def _team(get: Any, who: str, at: float, cost: float) -> BudgetObservation:
    spend, told = number(get("user_api_key_team_spend")), get("user_api_key_team_budget_reset_at", _MISSING)
    maximum, is_unlimited = number(get("user_api_key_team_max_budget")), False
    if maximum is None:
        # The key's own row may have come without its team: only the team's says that there is none.
        of_table = get("user_api_key_team_table_max_budget", _MISSING)
        maximum, is_unlimited = number(of_table), of_table is None
    budget = Budget(
        at,
        _EVENT,
        maximum,
        None if spend is None else spend + cost,
        moment(told) if told.__class__ is str else None,
        text(get("user_api_key_team_alias")),
        None,
        True,  # noqa: FBT003 - as above
        is_unlimited,
        told is None,
    )
    return BudgetObservation(_TEAM, who, budget)


def _user(get: Any, who: str, at: float, cost: float) -> BudgetObservation:
    spend, told = number(get("user_api_key_user_spend")), get("user_api_key_user_budget_reset_at", _MISSING)
    maximum, is_unlimited = number(get("user_api_key_user_max_budget")), False
    if maximum is None:
        of_table = get("user_api_key_user_table_max_budget", _MISSING)
        maximum, is_unlimited = number(of_table), of_table is None
    budget = Budget(
        at,
        _EVENT,
        maximum,
        None if spend is None else spend + cost,
        moment(told) if told.__class__ is str else None,
        text(get("user_api_key_user_alias")),
        text(get("user_api_key_user_email")),
        True,  # noqa: FBT003 - as above
        is_unlimited,
        told is None,
    )
    return BudgetObservation(_USER, who, budget)


def _org(get: Any, who: str, at: float, cost: float) -> BudgetObservation:
    spend, told = number(get("user_api_key_org_spend")), get("user_api_key_org_max_budget", _MISSING)
    # When it begins anew is never carried.
    budget = Budget(
        at,
        _EVENT,
        number(told),
        None if spend is None else spend + cost,
        None,
        text(get("user_api_key_org_alias")),
        None,
        True,  # noqa: FBT003 - as above
        told is None,
    )
    return BudgetObservation(_ORG, who, budget)


def number(told: Any) -> float | None:
    """Return a number, None for whatever is none: LiteLLM's values come from custom authentication too."""
    if type(told) is float:
        return told if -math.inf < told < math.inf else None
    if type(told) is int:
        return float(told) if abs(told) < 10**300 else None
    return None


def text(told: Any) -> str | None:
    """Return a text, None for whatever is none."""
    return told if type(told) is str else None


@lru_cache(MOST_MOMENTS)
def moment(told: str) -> float | None:
    """Return a moment in seconds since 1970. The same few texts come again and again."""
    try:
        moment = datetime.fromisoformat(told)
        # LiteLLM's database knows no zones: what names none is meant as UTC.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
