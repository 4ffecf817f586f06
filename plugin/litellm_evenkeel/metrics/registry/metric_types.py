"""Gauges, counters and histograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import prometheus_client
from prometheus_client import Histogram as ClientsHistogram
from prometheus_client.utils import floatToGoString

from litellm_evenkeel.metrics.registry.children import Child, CounterChild, GaugeChild, HistogramChild, Labels
from litellm_evenkeel.metrics.registry.families import Family
from litellm_evenkeel.metrics.registry.label_limits import OTHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.metrics_core import Metric

    from litellm_evenkeel.metrics.registry.families import MetricStore

TOTAL = "_total"
LONG_AGO = math.ulp(0.0)
"""When a gauge was set that only has its first value: before any other time, but Prometheus' client ignores 0."""


class Gauge(Family):
    """Of what goes up and down."""

    kind = "gauge"
    made = GaugeChild
    clients = prometheus_client.Gauge

    def _made(self, labels: Labels) -> Child:
        found = GaugeChild(self.store, labels, None)
        if not labels:
            # It is told from the beginning, as the client does it; whatever another worker has heard is later.
            found.put(0.0, LONG_AGO)
        return found

    def child(self, labels: Labels) -> Child:
        """Return the series of these labels; one that nobody sees where it would be several people's."""
        found = super().child(labels)
        return self._beyond(labels) if OTHER in found.labels and OTHER not in labels else found

    def _beyond(self, others: Labels) -> Child:
        # One number for several would mean nothing.
        return GaugeChild(self.store, others, None)


class Counter(Family):
    """Of what only grows."""

    kind = "counter"
    made = CounterChild
    clients = prometheus_client.Counter

    def __init__(
        self, store: MetricStore, name: str, documentation: str, labelnames: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(store, name.removesuffix(TOTAL), documentation, labelnames, **options)

    def _made(self, labels: Labels) -> Child:
        return CounterChild(self.store, labels, 0.0)

    def _retired(self, child: Child) -> None:
        self.store.removed_totals[f"{self.name}{TOTAL}"] += child.value or 0.0

    def _tell(self, metric: Metric, labels: dict[str, str], child: Child, value: float) -> None:
        metric.add_sample(f"{self.name}{TOTAL}", labels, value)
        if self.store.has_created:
            metric.add_sample(f"{self.name}_created", labels, child.created)


class Histogram(Family):
    """Of what is counted by how large it is."""

    kind = "histogram"
    made = HistogramChild
    clients = prometheus_client.Histogram

    def __init__(
        self,
        store: MetricStore,
        name: str,
        documentation: str,
        labelnames: Sequence[str] = (),
        buckets: Sequence[float] = ClientsHistogram.DEFAULT_BUCKETS,
        **options: Any,
    ) -> None:
        bounds = tuple(float(bound) for bound in buckets)
        self.bounds = bounds if bounds and bounds[-1] == math.inf else (*bounds, math.inf)
        self._told = [floatToGoString(bound) for bound in self.bounds]  # type: ignore[no-untyped-call]
        super().__init__(store, name, documentation, labelnames, buckets=buckets, **options)

    def _made(self, labels: Labels) -> Child:
        return HistogramChild(self.store, labels, self.bounds)

    def _retired(self, child: Child) -> None:
        assert isinstance(child, HistogramChild)
        self.store.removed_totals[f"{self.name}_count"] += sum(child.counts)
        self.store.removed_totals[f"{self.name}_sum"] += child.value or 0.0

    def _tell(self, metric: Metric, labels: dict[str, str], child: Child, value: float) -> None:
        assert isinstance(child, HistogramChild)
        counted = 0
        for told, count in zip(self._told, child.counts, strict=True):
            counted += count
            metric.add_sample(f"{self.name}_bucket", {**labels, "le": told}, counted)
        metric.add_sample(f"{self.name}_count", labels, counted)
        metric.add_sample(f"{self.name}_sum", labels, value)
        if self.store.has_created:
            metric.add_sample(f"{self.name}_created", labels, child.created)
