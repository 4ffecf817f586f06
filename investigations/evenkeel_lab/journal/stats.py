"""What a journal says of some time: requests by account, model or whatever, with quantiles where they mean anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from litellm_evenkeel.journal.store import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from litellm_evenkeel.journal.row import Row
    from litellm_evenkeel.journal.store import Store

GROUPS = ("account", "model", "deployment", "key", "status", "error", "reason")
FIELDS = ("time", "latency", "first_token", "prompt_tokens", "output_tokens", "cost", "retries", "status")
AT_ONCE = 5000
FIRST_FAILURE = 400
# Fewer requests beyond a quantile say nothing of it.
LEAST_BEYOND = 20
QUANTILES = (0.5, 0.95, 0.99)
MICROSECONDS = 1_000_000


def pages(store: Store, since: int = 0, at_once: int = AT_ONCE) -> Iterator[list[Row]]:
    """Yield all rows from a moment on, in microseconds since 1970, some at a time, the oldest first."""
    after = Place(since - 1)
    while rows := store.page(after, at_once):
        yield rows
        last = rows[-1]
        after = Place(last.time, last.writer, last.number)


def frame(store: Store, since: int, by: str) -> pd.DataFrame:
    """Return what is counted of each request from a moment on."""
    columns = [by, *(name for name in FIELDS if name != by)]
    parts = [
        pd.DataFrame([[getattr(row, name) for name in columns] for row in rows], columns=columns)
        for rows in pages(store, since)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def groups(told: pd.DataFrame, by: str) -> list[dict[str, object]]:
    """Return a document for each group, the largest first."""
    return [
        {by: name, **counted(rows)}
        for name, rows in sorted(told.groupby(by, sort=True), key=lambda one: (-len(one[1]), str(one[0])))
    ]


def counted(rows: pd.DataFrame) -> dict[str, object]:
    """Return what there is to say of some requests; latencies are of those that were answered."""
    failed = rows["status"] >= FIRST_FAILURE
    answered = rows.loc[~failed]
    return {
        "requests": len(rows),
        "failed": int(failed.sum()),
        "retries": int(rows["retries"].sum()),
        **{f"p{round(100 * each)}_seconds": quantile(answered["latency"], each) for each in QUANTILES},
        "first_token_p50_seconds": quantile(answered["first_token"].dropna(), QUANTILES[0]),
        "prompt_tokens": int(rows["prompt_tokens"].sum()),
        "output_tokens": int(rows["output_tokens"].sum()),
        "cost": float(rows["cost"].sum()),
    }


def quantile(values: pd.Series, each: float) -> float | None:
    """Return a quantile, if enough lies beyond it."""
    return float(values.quantile(each)) if len(values) * (1 - each) >= LEAST_BEYOND else None
