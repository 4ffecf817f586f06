"""Families of gauges, counters and histograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import prometheus_client
from prometheus_client import Histogram as ClientHistogram
from prometheus_client.utils import floatToGoString

from litellm_evenkeel.metrics.registry.families import Family
from litellm_evenkeel.metrics.registry.label_limits import OTHER
from litellm_evenkeel.metrics.registry.series import CounterSeries, GaugeSeries, HistogramSeries, Labels, Series

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
    client_class = prometheus_client.Gauge

    def _new_series(self, labels: Labels) -> Series:
        series = GaugeSeries(self.store, labels, None)
        if not labels:
            # As in the Prometheus client, it is exported from the start. Any value of another worker is later.
            series.put(0.0, NEVER_SET_TIMESTAMP)
        return series

    def get_or_create(self, labels: Labels) -> Series:
        """Return the series of `labels`; an unexported one if these labels would be collapsed to `other`."""
        series = super().get_or_create(labels)
        return self._overflow_series(labels) if OTHER in series.labels and OTHER not in labels else series

    def _overflow_series(self, labels: Labels) -> Series:
        # The value of one gauge cannot stand for several entities, so it is not exported.
        return GaugeSeries(self.store, labels, None)


class Counter(Family):
    """Family of series that only increase."""

    kind = "counter"
    client_class = prometheus_client.Counter

    def __init__(self, store: MetricStore, name: str, *arguments: Any, **options: Any) -> None:
        super().__init__(store, name.removesuffix(TOTAL), *arguments, **options)

    def _new_series(self, labels: Labels) -> Series:
        return CounterSeries(self.store, labels, 0.0)

    def _keep_total(self, series: Series) -> None:
        self.store.removed_totals[f"{self.name}{TOTAL}"] += series.value or 0.0

    def _add_samples(self, metric: Metric, labels: dict[str, str], series: Series, value: float) -> None:
        metric.add_sample(f"{self.name}{TOTAL}", labels, value)
        if self.store.has_created:
            metric.add_sample(f"{self.name}_created", labels, series.created_at)


class Histogram(Family):
    """Family of series that count observations by bucket."""

    kind = "histogram"
    client_class = prometheus_client.Histogram

    def __init__(
        self, *arguments: Any, buckets: Sequence[float] = ClientHistogram.DEFAULT_BUCKETS, **options: Any
    ) -> None:
        bounds = tuple(float(bound) for bound in buckets)
        self.bounds = bounds if bounds and bounds[-1] == math.inf else (*bounds, math.inf)
        self._bound_texts = [floatToGoString(bound) for bound in self.bounds]  # type: ignore[no-untyped-call]
        super().__init__(*arguments, buckets=buckets, **options)

    def _new_series(self, labels: Labels) -> Series:
        return HistogramSeries(self.store, labels, self.bounds)

    def _keep_total(self, series: Series) -> None:
        assert isinstance(series, HistogramSeries)
        self.store.removed_totals[f"{self.name}_count"] += sum(series.counts)
        self.store.removed_totals[f"{self.name}_sum"] += series.value or 0.0

    def _add_samples(self, metric: Metric, labels: dict[str, str], series: Series, value: float) -> None:
        assert isinstance(series, HistogramSeries)
        cumulative = 0
        for bound, count in zip(self._bound_texts, series.counts, strict=True):
            cumulative += count
            metric.add_sample(f"{self.name}_bucket", {**labels, "le": bound}, cumulative)
        metric.add_sample(f"{self.name}_count", labels, cumulative)
        metric.add_sample(f"{self.name}_sum", labels, value)
        if self.store.has_created:
            metric.add_sample(f"{self.name}_created", labels, series.created_at)
