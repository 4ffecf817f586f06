"""Statistics of latencies: quantiles and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import quantile

if TYPE_CHECKING:
    import numpy.typing as npt

    Values = npt.NDArray[np.float64]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
# A quantile with fewer values beyond it is unsure; with fewer than the least it is left out.
SURE, LEAST = 20, 5
# The stubs of scipy do not have this method.
HARRELL_DAVIS: Any = "harrell-davis"
# With more values, the weights of Harrell and Davis fall on one value and its neighbours.
MANY = 50_000


@dataclass(frozen=True)
class Spread:
    """Distribution of values, in milliseconds."""

    count: int
    mean: float
    most: float
    quantiles: dict[str, float]
    """Quantiles with enough values beyond them."""
    unsure: tuple[str, ...]
    """Names of quantiles with fewer than twenty values beyond them."""


def spread(values_ms: Values) -> Spread | None:
    """Return the distribution of values; `None` without values."""
    count = len(values_ms)
    if not count:
        return None
    reliable = {name: p for name, p in QUANTILES.items() if round(count * (1 - p), 6) >= LEAST}
    return Spread(
        count,
        float(values_ms.mean()),
        float(values_ms.max()),
        dict(zip(reliable, quantiles(values_ms, list(reliable.values())), strict=True)),
        tuple(name for name, p in reliable.items() if round(count * (1 - p), 6) < SURE),
    )


def quantiles(values: Values, ps: list[float]) -> list[float]:
    """Return quantiles by the Harrell-Davis estimator."""
    if not ps:
        return []
    estimates = quantile(values, ps, method=HARRELL_DAVIS) if len(values) <= MANY else np.quantile(values, ps)
    return [float(value) for value in np.atleast_1d(estimates)]


def share_above(values_ms: Values, limit_ms: float) -> float:
    """Return the share of values above a limit."""
    return float((values_ms > limit_ms).mean()) if len(values_ms) else 0.0
