"""Families of gauges, counters and histograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import prometheus_client
from prometheus_client import Histogram as ClientHistogram
from prometheus_client.utils import floatToGoString

from litellm_evenkeel.metrics.registry.children import Child, CounterChild, GaugeChild, HistogramChild, Labels
from litellm_evenkeel.metrics.registry.families import Family
from litellm_evenkeel.metrics.registry.label_limits import OTHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.metrics_core import Metric

    from litellm_evenkeel.metrics.registry.families import MetricStore

TOTAL = "_total"
NEVER_SET_TIMESTAMP = math.ulp(0.0)
"""Timestamp of a gauge with its initial value: before any other, but not 0, which the Prometheus client ignores."""


class Gauge(Family):
    """Family of series that increase and decrease."""

    kind = "gauge"
    child_class = GaugeChild
    client_class = prometheus_client.Gauge

    def _new_child(self, labels: Labels) -> Child:
        child = GaugeChild(self.store, labels, None)
        if not labels:
            # As in the Prometheus client, it is exported from the start. Any value of another worker is later.
            child.put(0.0, NEVER_SET_TIMESTAMP)
        return child

    def child(self, labels: Labels) -> Child:
        """Return the series of `labels`; an unexported one if these labels would be collapsed to `other`."""
        child = super().child(labels)
        return self._overflow_child(labels) if OTHER in child.labels and OTHER not in labels else child

    def _overflow_child(self, labels: Labels) -> Child:
        # The value of one gauge cannot stand for several entities, so it is not exported.
        return GaugeChild(self.store, labels, None)


class Counter(Family):
    """Family of series that only increase."""

    kind = "counter"
    child_class = CounterChild
    client_class = prometheus_client.Counter

    def __init__(
        self, store: MetricStore, name: str, documentation: str, labelnames: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(store, name.removesuffix(TOTAL), documentation, labelnames, **options)

    def _new_child(self, labels: Labels) -> Child:
        return CounterChild(self.store, labels, 0.0)

    def _keep_total(self, child: Child) -> None:
        self.store.removed_totals[f"{self.name}{TOTAL}"] += child.value or 0.0

    def _add_samples(self, metric: Metric, labels: dict[str, str], child: Child, value: float) -> None:
        metric.add_sample(f"{self.name}{TOTAL}", labels, value)
        if self.store.has_created:
            metric.add_sample(f"{self.name}_created", labels, child.created_at)


class Histogram(Family):
    """Family of series that count observations by bucket."""

    kind = "histogram"
    child_class = HistogramChild
    client_class = prometheus_client.Histogram

    def __init__(
        self,
        store: MetricStore,
        name: str,
        documentation: str,
        labelnames: Sequence[str] = (),
        buckets: Sequence[float] = ClientHistogram.DEFAULT_BUCKETS,
        **options: Any,
    ) -> None:
        bounds = tuple(float(bound) for bound in buckets)
        self.bounds = bounds if bounds and bounds[-1] == math.inf else (*bounds, math.inf)
        self._bound_texts = [floatToGoString(bound) for bound in self.bounds]  # type: ignore[no-untyped-call]
        super().__init__(store, name, documentation, labelnames, buckets=buckets, **options)

    def _new_child(self, labels: Labels) -> Child:
        return HistogramChild(self.store, labels, self.bounds)

    def _keep_total(self, child: Child) -> None:
        assert isinstance(child, HistogramChild)
        self.store.removed_totals[f"{self.name}_count"] += sum(child.counts)
        self.store.removed_totals[f"{self.name}_sum"] += child.value or 0.0

    def _add_samples(self, metric: Metric, labels: dict[str, str], child: Child, value: float) -> None:
        assert isinstance(child, HistogramChild)
        cumulative = 0
        for bound, count in zip(self._bound_texts, child.counts, strict=True):
            cumulative += count
            metric.add_sample(f"{self.name}_bucket", {**labels, "le": bound}, cumulative)
        metric.add_sample(f"{self.name}_count", labels, cumulative)
        metric.add_sample(f"{self.name}_sum", labels, value)
        if self.store.has_created:
            metric.add_sample(f"{self.name}_created", labels, child.created_at)
