"""A metric of ours, described: what it is called, what it tells, and how workers' values become one.

`docs/metrics.md` has a row for each, made from this.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "evenkeel_"


class MetricType(StrEnum):
    """What Prometheus takes it for."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, eq=False)
class MetricDefinition:
    """One metric."""

    type: MetricType
    name: str
    """Without what all of ours begin with, and without the `_total` of counters."""
    help: str
    labels: tuple[str, ...] = ()
    multiprocess_mode: str = "livesum"
    """Of a gauge with several workers: the largest, the smallest or the sum of what those that live have written."""
    absent_value: float = 0.0
    """What a gauge with several workers says when there is nothing to say any more."""
    buckets: tuple[float, ...] = ()

    @property
    def base_name(self) -> str:
        """As it is scraped, without the `_total` of counters."""
        return f"{PREFIX}{self.name}"

    @property
    def full_name(self) -> str:
        """As it is scraped."""
        return f"{self.base_name}{'_total' if self.type is MetricType.COUNTER else ''}"


def table(several: Iterable[MetricDefinition]) -> str:
    """Return the table of a page."""
    rows = [("metric", "kind", "labels", "several workers", "what it tells"), ("---",) * 5]
    for one in several:
        mode = one.multiprocess_mode.removeprefix("live") if one.type is MetricType.GAUGE else "sum"
        labels = ", ".join(f"`{label}`" for label in one.labels)
        rows.append((f"`{one.full_name}`", one.type, labels, mode, one.help))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
