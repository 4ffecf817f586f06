"""Figures of many requests, from the requests themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float64]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
# With fewer values beyond it a quantile is hardly more than an accident; with fewer still it is not told.
SURE, LEAST = 20, 5
# Which the stubs of scipy do not know.
HARRELL_DAVIS: Any = "harrell-davis"
# Beyond so many the weights of Harrell and Davis fall on one value and its neighbours.
MANY = 50_000


@dataclass(frozen=True)
class Spread:
    """How values are spread, in milliseconds."""

    count: int
    mean: float
    most: float
    quantiles: dict[str, float]
    """As far as there are values enough."""
    unsure: tuple[str, ...]
    """Those of them that have fewer than twenty values beyond."""


def spread(values_ms: Values) -> Spread | None:
    """Return how values are spread; None if there are none."""
    count = len(values_ms)
    if not count:
        return None
    told = {name: p for name, p in QUANTILES.items() if round(count * (1 - p), 6) >= LEAST}
    return Spread(
        count,
        float(values_ms.mean()),
        float(values_ms.max()),
        dict(zip(told, quantiles(values_ms, list(told.values())), strict=True)),
        tuple(name for name, p in told.items() if round(count * (1 - p), 6) < SURE),
    )


def quantiles(values: Values, ps: list[float]) -> list[float]:
    """Return quantiles, by Harrell and Davis' estimator."""
    if not ps:
        return []
    found = quantile(values, ps, method=HARRELL_DAVIS) if len(values) <= MANY else np.quantile(values, ps)
    return [float(value) for value in np.atleast_1d(found)]


def share_above(values_ms: Values, limit_ms: float) -> float:
    """Return the share of values beyond a limit."""
    return float((values_ms > limit_ms).mean()) if len(values_ms) else 0.0
