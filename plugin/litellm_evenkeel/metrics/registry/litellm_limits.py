"""How many series LiteLLM's settings allow, and for how long, with the meaning that they have there."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.registry.expiry import SeriesTtl

if TYPE_CHECKING:
    from litellm_evenkeel.metrics.registry.families import MetricStore

OF_END_USERS = ("max_series_per_metric", "ttl_seconds", "cleanup_interval_seconds")


def of_end_users(store: MetricStore, settings: Any) -> SeriesTtl:
    """Limit the series of end users, as the attributes of `settings` say; return for how long series live."""
    most, ttl, often = [_of_end_users(settings, name) for name in OF_END_USERS]
    # As LiteLLM has it, zero is no limit.
    store.most_of_end_users = most if most is not None and most > 0 else math.inf
    return SeriesTtl(
        of_end_users=math.inf if ttl is None else ttl,
        # With none, or zero, LiteLLM looks whenever something is counted.
        of_end_users_checked_every=0.0 if often is None else often,
    )


def of_each_metric(store: MetricStore, ttl: SeriesTtl, limits: Any, places: Any) -> SeriesTtl:
    """Limit the series of each metric, as `limits` say; return for how long series live.

    `places` is what several workers of LiteLLM share the places by; None if there is one worker.
    """
    if limits.max_series is not None:
        store.most_series = limits.max_series
        if places is not None:
            store.admits = lambda family, labels: places.admit_series(
                metric_name=family.name, label_values=labels, max_series=limits.max_series
            )
    if limits.ttl_seconds is None:
        return ttl
    often = limits.cleanup_interval_seconds or 0.0
    return dataclasses.replace(ttl, all=limits.ttl_seconds, all_checked_every=often)


def _of_end_users(settings: Any, name: str) -> float | None:
    found = getattr(settings, f"prometheus_end_user_metrics_{name}", None)
    return found if isinstance(found, int | float) else None
