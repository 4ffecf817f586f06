"""Statistics of a journal's requests by account, model or another field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evenkeel_lab.journal_reader.queries import FIRST_FAILURE, pages

if TYPE_CHECKING:
    from litellm_evenkeel.journal.store import RecordStore

FIELDS = ("time", "latency", "first_token", "prompt_tokens", "output_tokens", "cost", "retries", "status")
# With fewer requests beyond a quantile, its estimate is chance.
MIN_BEYOND = 20
QUANTILES = (0.5, 0.95, 0.99)


def load_requests(store: RecordStore, since: int, by: str) -> pd.DataFrame:
    """Return the `FIELDS` and the field `by` of all requests since a time in microseconds since 1970."""
    columns = [by, *(name for name in FIELDS if name != by)]
    parts = [
        pd.DataFrame([[getattr(record, name) for name in columns] for record in records], columns=columns)
        for records in pages(store, since)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def summarise_groups(requests: pd.DataFrame, by: str) -> list[dict[str, object]]:
    """Return the statistics of each group as a document, the largest group first."""
    groups = sorted(requests.groupby(by, sort=True), key=lambda group: (-len(group[1]), str(group[0])))
    return [{by: name, **summarise(members)} for name, members in groups]


def summarise(requests: pd.DataFrame) -> dict[str, object]:
    """Return the statistics of `requests` as a document. Latencies are those of successful requests."""
    has_failed = requests["status"] >= FIRST_FAILURE
    answered = requests.loc[~has_failed]
    return {
        "requests": len(requests),
        "failed": int(has_failed.sum()),
        "retries": int(requests["retries"].sum()),
        **{f"p{round(100 * q)}_seconds": quantile(answered["latency"], q) for q in QUANTILES},
        "first_token_p50_seconds": quantile(answered["first_token"].dropna(), QUANTILES[0]),
        "prompt_tokens": int(requests["prompt_tokens"].sum()),
        "output_tokens": int(requests["output_tokens"].sum()),
        "cost": float(requests["cost"].sum()),
    }


def quantile(values: pd.Series, q: float) -> float | None:
    """Return the quantile `q`, or `None` if fewer than `MIN_BEYOND` values lie beyond it."""
    return float(values.quantile(q)) if len(values) * (1 - q) >= MIN_BEYOND else None
