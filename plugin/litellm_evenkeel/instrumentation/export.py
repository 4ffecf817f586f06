"""How samples get to Prometheus: asked for at each scrape in one process, written at times by each of several.

With PROMETHEUS_MULTIPROC_DIR, a scrape is answered by any worker from files that all of them write, and what only a
collector in memory knows is not seen. So each worker writes its samples there every few seconds; the mode of each
series says how Prometheus' client makes one value of them. Values of a worker that has died count no more as soon as
it is marked dead, which LiteLLM does.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.instrumentation.definitions import PREFIX, MetricDefinition, MetricType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prometheus_client.metrics_core import Metric

    Samples = Callable[[], Iterable["Sample"]]
    Happened = Callable[[str, Exception], None]

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
WRITTEN_EVERY_SECONDS = 5.0
SLICE = 64
# A loop holds its tasks weakly.
_TASKS: set[asyncio.Task[None]] = set()


class Sample(NamedTuple):
    """One value."""

    series: MetricDefinition
    labels: tuple[str, ...]
    value: float


def _ignore(where: str, error: Exception) -> None:
    del where, error


def is_multiprocess(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether several processes answer scrapes together."""
    return bool(environ.get(MULTIPROCESS) or environ.get(MULTIPROCESS.lower()))


def show(
    samples: Samples,
    several: Sequence[MetricDefinition],
    registry: CollectorRegistry,
    environ: Mapping[str, str] = os.environ,
    *,
    happened: Happened,
) -> Callable[[], None]:
    """Let Prometheus see samples of some series, in whichever way this worker is scraped.

    Returns what shows them once more where others are asked for them, for a worker that ends.
    """
    if not is_multiprocess(environ):
        SampleCollector(samples, several, registry, happened=happened)
        return _nothing
    writer = SampleWriter(samples, several, happened=happened)
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # A proxy imports its callbacks in its loop; what has none is no worker that anybody scrapes.
        return _nothing
    task = loop.create_task(writer.keep_writing())
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return writer.write


def _nothing() -> None:
    pass


class SampleCollector:
    """Asks for samples of some series at each scrape."""

    def __init__(
        self,
        samples: Samples,
        several: Sequence[MetricDefinition],
        registry: CollectorRegistry = REGISTRY,
        *,
        happened: Happened = _ignore,
    ) -> None:
        self._samples, self._several, self._happened = samples, several, happened
        registry.register(self)

    def describe(self) -> Iterator[Metric]:
        """Name what may come, without looking."""
        for one in self._several:
            yield _family(one)

    def collect(self) -> Iterator[Metric]:
        """Yield what there is."""
        found: dict[MetricDefinition, Any] = {one: _family(one) for one in self._several}
        try:
            for sample in self._samples():
                found[sample.series].add_metric(sample.labels, sample.value)
        except Exception as error:  # noqa: BLE001 - the metrics of all others are in the same answer
            self._happened("reading metrics", error)
        yield from (family for family in found.values() if family.samples)


class SampleWriter:
    """Writes samples to the files of this process."""

    def __init__(
        self,
        samples: Samples,
        several: Sequence[MetricDefinition],
        registry: CollectorRegistry | None = None,
        *,
        happened: Happened = _ignore,
    ) -> None:
        self._samples, self._happened = samples, happened
        self._made = {one: made(one, registry) for one in several}
        self._written: dict[tuple[MetricDefinition, tuple[str, ...]], float] = {}

    def writing(self) -> Iterator[None]:
        """Write them all; yields at times, so that others can have the thread."""
        seen = set()
        for number, sample in enumerate(self._samples(), 1):
            if number % SLICE == 0:
                yield
            seen.add((sample.series, sample.labels))
            self._write(*sample)
        for one, labels in self._written.keys() - seen:
            # No series can be taken back from the files.
            if one.type is MetricType.GAUGE and self._written[one, labels] != one.absent_value:
                self._write(one, labels, one.absent_value)

    def write(self) -> None:
        """Write them all at once."""
        try:
            for _ in self.writing():
                pass
        except Exception as error:  # noqa: BLE001 - a worker that ends has more to do
            self._happened("writing metrics", error)

    async def keep_writing(self, seconds: float = WRITTEN_EVERY_SECONDS) -> None:
        """Write them again and again, for ever."""
        while True:
            try:
                for _ in self.writing():
                    await asyncio.sleep(0)
            except Exception as error:  # noqa: BLE001 - the next time may go better
                self._happened("writing metrics", error)
            await asyncio.sleep(seconds)

    def _write(self, one: MetricDefinition, labels: tuple[str, ...], value: float) -> None:
        child = self._made[one].labels(*labels) if one.labels else self._made[one]
        before = self._written.get((one, labels), 0.0)
        if one.type is MetricType.COUNTER:
            child.inc(max(value - before, 0.0))
        else:
            child.set(value)
        self._written[one, labels] = value


def made(one: MetricDefinition, registry: CollectorRegistry | None) -> Any:
    """Return a metric of Prometheus' client's own."""
    return _MAKERS[one.type](one.base_name, one, registry)


def exposition(registry: CollectorRegistry = REGISTRY, environ: Mapping[str, str] = os.environ) -> bytes:
    """Return the metrics of the plugin as text, for proxies that have no /metrics."""
    if is_multiprocess(environ):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(_Ours(registry))


class _Ours:
    """A registry, without what is not ours."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        return (metric for metric in self._registry.collect() if metric.name.startswith(PREFIX))


def _family(one: MetricDefinition) -> Any:
    kind = CounterMetricFamily if one.type is MetricType.COUNTER else GaugeMetricFamily
    return kind(one.base_name, one.help, labels=one.labels)


def _counter(name: str, one: MetricDefinition, registry: CollectorRegistry | None) -> Counter:
    return Counter(name, one.help, one.labels, registry=registry)


def _gauge(name: str, one: MetricDefinition, registry: CollectorRegistry | None) -> Gauge:
    mode: Any = one.multiprocess_mode
    return Gauge(name, one.help, one.labels, registry=registry, multiprocess_mode=mode)


def _histogram(name: str, one: MetricDefinition, registry: CollectorRegistry | None) -> Histogram:
    return Histogram(name, one.help, one.labels, registry=registry, buckets=one.buckets)


_MAKERS: Mapping[MetricType, Callable[[str, MetricDefinition, CollectorRegistry | None], Any]] = {
    MetricType.COUNTER: _counter,
    MetricType.GAUGE: _gauge,
    MetricType.HISTOGRAM: _histogram,
}
