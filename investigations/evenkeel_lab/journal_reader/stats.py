"""What a journal says of some time: requests by account, model or whatever, with quantiles where they mean anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evenkeel_lab.journal_reader.queries import FIRST_FAILURE, pages

if TYPE_CHECKING:
    from litellm_evenkeel.journal.store import RecordStore

FIELDS = ("time", "latency", "first_token", "prompt_tokens", "output_tokens", "cost", "retries", "status")
# Fewer requests beyond a quantile say nothing of it.
LEAST_BEYOND = 20
QUANTILES = (0.5, 0.95, 0.99)


def frame(store: RecordStore, since: int, by: str) -> pd.DataFrame:
    """Return what is counted of each request from a moment on."""
    columns = [by, *(name for name in FIELDS if name != by)]
    parts = [
        pd.DataFrame([[getattr(record, name) for name in columns] for record in records], columns=columns)
        for records in pages(store, since)
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
