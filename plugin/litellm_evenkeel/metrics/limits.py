"""How many series LiteLLM's settings allow, and for how long, with the meaning that they have there."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations import prometheus as stock

from litellm_evenkeel.metrics.expiry import Lives

if TYPE_CHECKING:
    from litellm_evenkeel.metrics.families import Store

# LiteLLM before 1.106 has no such limit.
SHARED: Any = getattr(stock, "SharedPrometheusSeriesAdmissions", ())


def of_end_users(store: Store) -> Lives:
    """Limit the series of end users; return for how long series live."""
    most, ttl = _of_end_users("max_series_per_metric"), _of_end_users("ttl_seconds")
    often = _of_end_users("cleanup_interval_seconds")
    # As LiteLLM has it, zero is no limit.
    store.most_of_end_users = most if most is not None and most > 0 else math.inf
    return Lives(
        of_end_users=math.inf if ttl is None else ttl,
        # With none, or zero, LiteLLM looks whenever something is counted.
        of_end_users_checked_every=0.0 if often is None else often,
    )


def of_each_metric(store: Store, lives: Lives, limits: Any, places: Any) -> Lives:
    """Limit the series of each metric, as `limits` say; return for how long series live.

    `places` is what LiteLLM's own callback would give the places by; where several workers share them, they do here.
    """
    if limits.max_series is not None:
        store.most_series = limits.max_series
        if isinstance(places, SHARED):
            store.admits = lambda family, labels: places.admit_series(
                metric_name=family.name, label_values=labels, max_series=limits.max_series
            )
    if limits.ttl_seconds is None:
        return lives
    often = limits.cleanup_interval_seconds or 0.0
    return dataclasses.replace(lives, all=limits.ttl_seconds, all_checked_every=often)


def _of_end_users(name: str) -> float | None:
    found = getattr(litellm, f"prometheus_end_user_metrics_{name}", None)
    return found if isinstance(found, int | float) else None
