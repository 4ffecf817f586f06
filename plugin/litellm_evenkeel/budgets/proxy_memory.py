"""Budgets in the proxy's own memory: LiteLLM's cache keys, and how its rows are read. Nothing is written there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source
from litellm_evenkeel.budgets.request_metadata import number, text, timestamp

# LiteLLM caches rows for this time. A row without a timestamp may be this old.
MAX_ROW_AGE_SECONDS = 60.0
_HASH = re.compile(r"[0-9a-f]{64}")
_MISSING: Any = object()
_ROWS = {
    BudgetEntity.KEY: "{}",
    BudgetEntity.TEAM: "team_id:{}",
    BudgetEntity.USER: "{}",
    BudgetEntity.ORG: "org_id:{}:with_budget",
    BudgetEntity.CUSTOMER: "end_user_id:{}",
}
_ALIASES = {
    BudgetEntity.KEY: "key_alias",
    BudgetEntity.TEAM: "team_alias",
    BudgetEntity.USER: "user_alias",
    BudgetEntity.ORG: "organization_alias",
    BudgetEntity.CUSTOMER: "alias",
}
_IN_BUDGET_TABLE = frozenset({BudgetEntity.ORG, BudgetEntity.CUSTOMER})


def row_name(kind: BudgetEntity, entity_id: str) -> str | None:
    """Return the key of an entity's row in the authentication cache, or `None` if there can be none."""
    # Users and keys are both cached under their bare ids, so only an id that looks like a key's hash is a key's.
    if kind not in _ROWS or (
        kind in {BudgetEntity.KEY, BudgetEntity.USER}
        and (_HASH.fullmatch(entity_id) is None) is (kind is BudgetEntity.KEY)
    ):
        return None
    return _ROWS[kind].format(entity_id)


def counter_name(kind: BudgetEntity, entity_id: str) -> str | None:
    """Return the key of an entity's spend counter, or `None` if LiteLLM has none for this kind."""
    if kind is BudgetEntity.PROVIDER:
        return None
    return f"spend:{'end_user' if kind is BudgetEntity.CUSTOMER else kind.value}:{entity_id}"


def budget_of(kind: BudgetEntity, row: object, counter: object, now: float) -> Budget | None:
    """Return the budget from a cached row and a spend counter, either of which may be missing; `None` without both.

    The counter is current. A row is as old as its timestamp says, or `MAX_ROW_AGE_SECONDS` old without one.
    """
    spend, as_of = number(counter), now
    if not isinstance(row, Mapping):
        return None if spend is None else Budget(now, Source.PROCESS, spend=spend)
    if spend is None:
        spend, refreshed_at = number(row.get("spend")), number(row.get("last_refreshed_at"))
        as_of = now - MAX_ROW_AGE_SECONDS if refreshed_at is None else min(refreshed_at, now)
    limits: Mapping[str, Any] = row
    if kind in _IN_BUDGET_TABLE:
        table = row.get("litellm_budget_table", _MISSING)
        # `None` means that there is no budget, so no maximum. If the table was not joined, there may be one.
        limits = table if isinstance(table, Mapping) else {"max_budget": None} if table is None else {}
    limit, reset = limits.get("max_budget", _MISSING), limits.get("budget_reset_at", _MISSING)
    return Budget(
        as_of=as_of,
        source=Source.PROCESS,
        maximum=number(limit),
        spend=spend,
        resets_at=timestamp(reset) if isinstance(reset, str) else None,
        alias=text(row.get(_ALIASES.get(kind, ""))),
        email=text(row.get("user_email")) if kind is BudgetEntity.USER else None,
        is_unlimited=limit is None,
        never_resets=reset is None,
    )
