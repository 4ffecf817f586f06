"""How samples get to Prometheus: asked for at each scrape in one process, written at times by each of several.

With PROMETHEUS_MULTIPROC_DIR, a scrape is answered by any worker from files that all of them write, and what only a
collector in memory knows is not seen. So each worker writes its samples there every few seconds; the mode of each
series says how Prometheus' client makes one value of them. Values of a worker that has died count no more as soon as
it is marked dead, which LiteLLM does.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.described import Form
from litellm_evenkeel.rotation import series
from litellm_evenkeel.rotation.metrics import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.metrics_core import Metric

    from litellm_evenkeel.described import Series
    from litellm_evenkeel.rotation.gauges import Sample

    Samples = Callable[[], Iterable[Sample]]
    Happened = Callable[[str, Exception], None]

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
WRITTEN_EVERY_SECONDS = 5.0
SLICE = 64


def _ignore(where: str, error: Exception) -> None:
    del where, error


def is_multiprocess(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether several processes answer scrapes together."""
    return bool(environ.get(MULTIPROCESS) or environ.get(MULTIPROCESS.lower()))


class Collector:
    """Asks for samples at each scrape."""

    def __init__(
        self, samples: Samples, registry: CollectorRegistry = REGISTRY, *, happened: Happened = _ignore
    ) -> None:
        self._samples, self._happened = samples, happened
        registry.register(self)

    def describe(self) -> Iterator[Metric]:
        """Name what may come, without looking."""
        for one in series.READ:
            yield _family(one)

    def collect(self) -> Iterator[Metric]:
        """Yield what there is."""
        found: dict[Series, Any] = {one: _family(one) for one in series.READ}
        try:
            for sample in self._samples():
                found[sample.series].add_metric(sample.labels, sample.value)
        except Exception as error:  # noqa: BLE001 - the metrics of all others are in the same answer
            self._happened("reading metrics", error)
        yield from (family for family in found.values() if family.samples)


class Writer:
    """Writes samples to the files of this process."""

    def __init__(
        self, samples: Samples, registry: CollectorRegistry | None = None, *, happened: Happened = _ignore
    ) -> None:
        self._samples, self._happened = samples, happened
        self._made = {one: made(one, registry) for one in series.READ}
        self._written: dict[tuple[Series, tuple[str, ...]], float] = {}

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
            if one.form is Form.GAUGE and self._written[one, labels] != one.gone:
                self._write(one, labels, one.gone)

    async def keep_writing(self, seconds: float = WRITTEN_EVERY_SECONDS) -> None:
        """Write them again and again, for ever."""
        while True:
            try:
                for _ in self.writing():
                    await asyncio.sleep(0)
            except Exception as error:  # noqa: BLE001 - the next time may go better
                self._happened("writing metrics", error)
            await asyncio.sleep(seconds)

    def _write(self, one: Series, labels: tuple[str, ...], value: float) -> None:
        child = self._made[one].labels(*labels) if one.labels else self._made[one]
        before = self._written.get((one, labels), 0.0)
        if one.form is Form.COUNTER:
            child.inc(max(value - before, 0.0))
        else:
            child.set(value)
        self._written[one, labels] = value


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
        return (metric for metric in self._registry.collect() if metric.name.startswith(series.PREFIX))


def _family(one: Series) -> Any:
    kind = CounterMetricFamily if one.form is Form.COUNTER else GaugeMetricFamily
    return kind(one.base_name, one.about, labels=one.labels)
