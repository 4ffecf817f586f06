"""Definitions of the plugin's metrics: names, help texts, and how the values of several workers are merged.

`docs/metrics.md` has one generated row for each definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "evenkeel_"


class MetricType(StrEnum):
    """Type of a metric in Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, eq=False)
class MetricDefinition:
    """Definition of one metric."""

    type: MetricType
    name: str
    """Name without the prefix `evenkeel_`, and without the `_total` of counters."""
    help: str
    labels: tuple[str, ...] = ()
    multiprocess_mode: str = "livesum"
    """For gauges: `livemax`, `livemin` or `livesum`, the maximum, minimum or sum of the values of live workers."""
    absent_value: float = 0.0
    """For gauges with several workers: the value of a series that has no sample any more."""
    buckets: tuple[float, ...] = ()

    @property
    def base_name(self) -> str:
        """Name as scraped, without the `_total` of counters."""
        return f"{PREFIX}{self.name}"

    @property
    def full_name(self) -> str:
        """Name as scraped."""
        return f"{self.base_name}{'_total' if self.type is MetricType.COUNTER else ''}"


def table(definitions: Iterable[MetricDefinition]) -> str:
    """Return the definitions as a Markdown table."""
    rows = [("metric", "kind", "labels", "several workers", "meaning"), ("---",) * 5]
    for definition in definitions:
        mode = definition.multiprocess_mode.removeprefix("live") if definition.type is MetricType.GAUGE else "sum"
        labels = ", ".join(f"`{label}`" for label in definition.labels)
        rows.append((f"`{definition.full_name}`", definition.type, labels, mode, definition.help))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
