"""Export of samples to Prometheus: collected at each scrape by one process, written periodically by several workers.

With PROMETHEUS_MULTIPROC_DIR, any worker answers a scrape from files that all workers write, without the values of
collectors in memory. Therefore each worker writes its samples to its files, four times a second if they are few. The
mode of each metric states how Prometheus' client merges them. The values of a dead worker count until LiteLLM marks it
as dead.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.instrumentation.definitions import PREFIX, MetricDefinition, MetricType
from litellm_evenkeel.proxy_process import multiprocess_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prometheus_client.metrics_core import Metric

    Samples = Callable[[], Iterable["Sample"]]
    OnError = Callable[[str, Exception], None]

# A worker pauses for this many times the CPU time of its last write, so writes take a hundredth of a core at most. The
# elapsed time would include that of other processes: on busy cores, a fault would be seen seconds later.
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS, PAUSES_PER_WRITE = 0.25, 5.0, 100
SAMPLES_PER_SLICE = 64
# Event loops hold only weak references to tasks: without this set, a task might be garbage-collected.
_TASKS: set[asyncio.Task[None]] = set()


class Sample(NamedTuple):
    """Value of one series."""

    definition: MetricDefinition
    labels: tuple[str, ...]
    value: float


def export_samples(
    samples: Samples,
    definitions: Sequence[MetricDefinition],
    registry: CollectorRegistry,
    environ: Mapping[str, str] = os.environ,
    *,
    on_error: OnError,
) -> Callable[[], None]:
    """Export samples of `definitions` to Prometheus, in the way in which this worker is scraped.

    Return a function for the worker's shutdown, which writes the samples once more if there are several workers.
    """
    if multiprocess_folder(environ) is None:
        SampleCollector(samples, definitions, registry, on_error=on_error)
        return lambda: None
    writer = SampleWriter(samples, definitions, on_error=on_error)
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # A proxy imports its callbacks inside its event loop; a process without a loop is no worker that is scraped.
        return lambda: None
    task = loop.create_task(writer.keep_writing())
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return writer.write


class SampleCollector:
    """Collector that reads the samples at each scrape."""

    def __init__(
        self,
        samples: Samples,
        definitions: Sequence[MetricDefinition],
        registry: CollectorRegistry,
        *,
        on_error: OnError,
    ) -> None:
        self._samples, self._definitions, self._on_error = samples, definitions, on_error
        registry.register(self)

    def describe(self) -> Iterator[Metric]:
        """Yield the metric families without samples."""
        for definition in self._definitions:
            yield _family(definition)

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families that have samples."""
        families: dict[MetricDefinition, Any] = {definition: _family(definition) for definition in self._definitions}
        try:
            for sample in self._samples():
                families[sample.definition].add_metric(sample.labels, sample.value)
        except Exception as error:  # noqa: BLE001 - the same response contains the metrics of all other collectors
            self._on_error("reading metrics", error)
        yield from (family for family in families.values() if family.samples)


class SampleWriter:
    """Writer of samples to the multiprocess files of this process."""

    def __init__(self, samples: Samples, definitions: Sequence[MetricDefinition], *, on_error: OnError) -> None:
        self._samples, self._on_error = samples, on_error
        self._metrics = {definition: new_metric(definition, None) for definition in definitions}
        self._written: dict[tuple[MetricDefinition, tuple[str, ...]], float] = {}

    def write_in_slices(self) -> Iterator[None]:
        """Write all samples; yield after every `SAMPLES_PER_SLICE`, so that the event loop is not blocked for long."""
        seen = set()
        for number, sample in enumerate(self._samples(), 1):
            if number % SAMPLES_PER_SLICE == 0:
                yield
            seen.add((sample.definition, sample.labels))
            self._write(*sample)
        for definition, labels in self._written.keys() - seen:
            # A series cannot be removed from the files.
            if definition.type is MetricType.GAUGE and self._written[definition, labels] != definition.absent_value:
                self._write(definition, labels, definition.absent_value)

    def write(self) -> None:
        """Write all samples without a pause."""
        try:
            for _ in self.write_in_slices():
                pass
        except Exception as error:  # noqa: BLE001 - the rest of a worker's shutdown must go on
            self._on_error("writing metrics", error)

    async def keep_writing(self) -> None:
        """Write all samples again and again, until cancelled."""
        while True:
            seconds = 0.0
            try:
                slices, is_unfinished = self.write_in_slices(), True
                while is_unfinished:
                    began = time.thread_time()
                    is_unfinished = next(slices, self) is not self
                    seconds += time.thread_time() - began
                    await asyncio.sleep(0)
            except Exception as error:  # noqa: BLE001 - the next write may succeed
                self._on_error("writing metrics", error)
            await asyncio.sleep(min(max(PAUSES_PER_WRITE * seconds, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS))

    def _write(self, definition: MetricDefinition, labels: tuple[str, ...], value: float) -> None:
        written = self._written.get((definition, labels))
        if value == written:
            return
        metric = self._metrics[definition]
        series = metric.labels(*labels) if definition.labels else metric
        if definition.type is MetricType.COUNTER:
            series.inc(max(value - (written or 0.0), 0.0))
        else:
            series.set(value)
        self._written[definition, labels] = value


def new_metric(definition: MetricDefinition, registry: CollectorRegistry | None) -> Any:
    """Return a metric of Prometheus' client for a definition."""
    name, text, labels = definition.base_name, definition.help, definition.labels
    if definition.type is MetricType.HISTOGRAM:
        return Histogram(name, text, labels, registry=registry, buckets=definition.buckets)
    if definition.type is MetricType.GAUGE:
        mode: Any = definition.multiprocess_mode
        return Gauge(name, text, labels, registry=registry, multiprocess_mode=mode)
    return Counter(name, text, labels, registry=registry)


def exposition(registry: CollectorRegistry = REGISTRY, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the metrics of the plugin in the text format, for proxies without a /metrics endpoint."""
    if multiprocess_folder(environ) is not None:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(_PluginMetrics(registry))


class _PluginMetrics:
    """View of a registry with the plugin's metrics only."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        return (metric for metric in self._registry.collect() if metric.name.startswith(PREFIX))


def _family(definition: MetricDefinition) -> Any:
    kind = CounterMetricFamily if definition.type is MetricType.COUNTER else GaugeMetricFamily
    return kind(definition.base_name, definition.help, labels=definition.labels)
