"""LiteLLM's settings for the number and lifetime of series, with the meaning that they have in LiteLLM."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from litellm_evenkeel.metrics.registry.expiry import SeriesTtl

if TYPE_CHECKING:
    from litellm_evenkeel.metrics.registry.families import MetricStore

END_USER_SETTINGS = ("max_series_per_metric", "ttl_seconds", "cleanup_interval_seconds")


def apply_end_user_limits(store: MetricStore, settings: Any) -> SeriesTtl:
    """Limit the series of end users according to the attributes of `settings`. Return the lifetime of series."""
    values = [getattr(settings, f"prometheus_end_user_metrics_{name}", None) for name in END_USER_SETTINGS]
    max_series, ttl, check_seconds = [value if isinstance(value, int | float) else None for value in values]
    # As in LiteLLM, zero means no limit.
    store.max_end_user_series = max_series if max_series is not None and max_series > 0 else math.inf
    return SeriesTtl(
        end_user_seconds=math.inf if ttl is None else ttl,
        # If the interval is unset or zero, LiteLLM checks whenever it counts something.
        end_user_check_seconds=0.0 if check_seconds is None else check_seconds,
    )


def apply_metric_limits(store: MetricStore, ttl: SeriesTtl, limits: Any, shared_admissions: Any) -> SeriesTtl:
    """Limit the series of each metric according to `limits`. Return the lifetime of series.

    `shared_admissions` is LiteLLM's object by which several workers share one limit; `None` if there is one worker.
    """
    if limits.max_series is not None:
        store.max_series = limits.max_series
        if shared_admissions is not None:
            store.admits = lambda family, labels: shared_admissions.admit_series(
                metric_name=family.name, label_values=labels, max_series=limits.max_series
            )
    if limits.ttl_seconds is None:
        return ttl
    check_seconds = limits.cleanup_interval_seconds or 0.0
    return dataclasses.replace(ttl, all_seconds=limits.ttl_seconds, all_check_seconds=check_seconds)
