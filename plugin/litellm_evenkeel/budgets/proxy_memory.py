"""What the proxy keeps of budgets in its own memory: under which names, and how that is read. It is only looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Source
from litellm_evenkeel.budgets.request_hints import moment, number, text

# LiteLLM keeps rows for so long, and not all of them say since when.
KEPT_SECONDS = 60.0
_HASH = re.compile(r"[0-9a-f]{64}")
_MISSING: Any = object()
_ROWS = {
    BudgetEntity.KEY: "{}",
    BudgetEntity.TEAM: "team_id:{}",
    BudgetEntity.USER: "{}",
    BudgetEntity.ORG: "org_id:{}:with_budget",
    BudgetEntity.CUSTOMER: "end_user_id:{}",
}
_COUNTERS = {
    BudgetEntity.KEY: "spend:key:{}",
    BudgetEntity.TEAM: "spend:team:{}",
    BudgetEntity.USER: "spend:user:{}",
    BudgetEntity.ORG: "spend:org:{}",
    BudgetEntity.CUSTOMER: "spend:end_user:{}",
}
_ALIASES = {
    BudgetEntity.KEY: "key_alias",
    BudgetEntity.TEAM: "team_alias",
    BudgetEntity.USER: "user_alias",
    BudgetEntity.ORG: "organization_alias",
    BudgetEntity.CUSTOMER: "alias",
}
_IN_BUDGET_TABLE = frozenset({BudgetEntity.ORG, BudgetEntity.CUSTOMER})


def row_name(kind: BudgetEntity, who: str) -> str | None:
    """Return under which name the cache of authentication has somebody's row, None if it can have none."""
    # A user and a key lie under their bare ids: what looks like a key's is one's.
    if kind not in _ROWS or (
        kind in {BudgetEntity.KEY, BudgetEntity.USER} and (_HASH.fullmatch(who) is None) is (kind is BudgetEntity.KEY)
    ):
        return None
    return _ROWS[kind].format(who)


def counter_name(kind: BudgetEntity, who: str) -> str | None:
    """Return under which name the counters of spend have somebody's, None if there is none."""
    form = _COUNTERS.get(kind)
    return None if form is None else form.format(who)


def budget_of(kind: BudgetEntity, row: object, counter: object, now: float) -> Budget | None:
    """Return what is known of a row and a counter, either of which may be missing; None if nothing is.

    The counter has what was spent until now; a row is as old as it says, or as old as one may be.
    """
    spend, as_of = number(counter), now
    if not isinstance(row, Mapping):
        return None if spend is None else Budget(now, Source.PROCESS, spend=spend)
    if spend is None:
        spend, told = number(row.get("spend")), number(row.get("last_refreshed_at"))
        as_of = now - KEPT_SECONDS if told is None else min(told, now)
    of_limit: Mapping[str, Any] = row
    if kind in _IN_BUDGET_TABLE:
        table = row.get("litellm_budget_table", _MISSING)
        # Who has no budget has no maximum; who was read without it may have one.
        of_limit = table if isinstance(table, Mapping) else {"max_budget": None} if table is None else {}
    limit, reset = of_limit.get("max_budget", _MISSING), of_limit.get("budget_reset_at", _MISSING)
    return Budget(
        as_of=as_of,
        source=Source.PROCESS,
        maximum=number(limit),
        spend=spend,
        resets_at=moment(reset) if isinstance(reset, str) else None,
        alias=text(row.get(_ALIASES.get(kind, ""))),
        email=text(row.get("user_email")) if kind is BudgetEntity.USER else None,
        is_unlimited=limit is None,
        never_resets=reset is None,
    )
