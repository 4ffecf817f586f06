"""Files of several workers: what Prometheus' client makes of them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.errors import SettingsError
from litellm_evenkeel.metrics.multiprocess.directory import prepare_folder
from litellm_evenkeel.metrics.multiprocess.writer import MultiprocessWriter, PendingWrite
from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge, Histogram
from litellm_evenkeel.proxy_process import MULTIPROCESS_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path


class Worker:
    """One worker's series, and its files."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.registry = CollectorRegistry()
        store = self.store = MetricStore(self.registry)
        self.calls = Counter(store, "calls_total", "Calls.", ("who",))
        self.took = Histogram(store, "took", "Took.", ("who",), buckets=(0.5, 2.0))
        self.left = Gauge(store, "left", "Left.", ("who",))
        self.busy = Gauge(store, "busy", "Busy.", multiprocess_mode="livesum")
        self.writer = MultiprocessWriter(store, folder, pid)


def together(folder: Path) -> CollectorRegistry:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    return registry


def lines(registry: CollectorRegistry) -> list[str]:
    scrape = generate_latest(registry).decode().splitlines()
    return sorted(line for line in scrape if "_created" not in line and not line.startswith("#"))


def test_what_one_worker_writes_is_what_it_would_tell(tmp_path: Path) -> None:
    one = Worker(tmp_path, os.getpid())
    one.calls.labels("a").inc(3)
    one.calls.labels('b"ö\\').inc()
    for seconds in (0.1, 1.0, 7.0):
        one.took.labels("a").observe(seconds)
    one.left.labels("a").set(-2)
    one.busy.set(4)
    one.writer.write()
    assert lines(together(tmp_path)) == lines(one.registry)


def test_of_several_workers_counts_are_added_and_the_latest_word_counts(tmp_path: Path) -> None:
    one, other = Worker(tmp_path, 1), Worker(tmp_path, 2)
    for worker, number in ((one, 1), (other, 2)):
        worker.calls.labels("a").inc(number)
        worker.took.labels("a").observe(number)
        worker.busy.set(number)
    other.left.labels("a").set(5)
    one.left.labels("a").set(7)
    for worker in (one, other):
        worker.writer.write()
    value = together(tmp_path).get_sample_value
    assert (value("calls_total", {"who": "a"}), value("left", {"who": "a"}), value("busy", {})) == (3, 7, 3)
    assert (value("took_count", {"who": "a"}), value("took_bucket", {"who": "a", "le": "0.5"})) == (2, 0)
    assert (value("took_bucket", {"who": "a", "le": "2.0"}), value("took_sum", {"who": "a"})) == (2, 3)


def test_gauges_that_are_gone_are_gone_and_counters_stay_until_somebody_takes_them_in(tmp_path: Path) -> None:
    one = Worker(tmp_path, os.getpid())
    one.calls.labels("a").inc(3)
    one.left.labels("a").set(3)
    one.store.retire("who", "a")
    one.writer.write()
    assert lines(together(tmp_path)) == ["busy 0.0", 'calls_total{who="a"} 3.0']
    # And what begins anew goes on where that was.
    one.calls.labels("a").inc(2)
    one.writer.write()
    assert lines(together(tmp_path)) == ["busy 0.0", 'calls_total{who="a"} 5.0']
    assert not one.store.removed_totals


def test_what_is_let_go_while_it_is_written_is_written_once(tmp_path: Path) -> None:
    one = Worker(tmp_path, os.getpid())
    for who in "abc":
        one.calls.labels(who).inc()
    found = PendingWrite()
    for number, _ in enumerate(one.writer.gather(found)):
        if number < 3:
            one.store.retire("who", "abc"[number])
    one.writer.save(found)
    one.writer.write()
    assert lines(together(tmp_path)) == ["busy 0.0", *(f'calls_total{{who="{who}"}} 1.0' for who in "abc")]


def test_a_worker_with_the_number_of_one_that_died_leaves_its_counts_alone(tmp_path: Path) -> None:
    for _ in range(2):
        worker = Worker(tmp_path, 77)
        worker.calls.labels("a").inc()
        worker.writer.write()
    assert together(tmp_path).get_sample_value("calls_total", {"who": "a"}) == 2


def test_a_worker_that_has_heard_nothing_does_not_overrule_one_that_has(tmp_path: Path) -> None:
    one = Worker(tmp_path, 1)
    users = Gauge(one.store, "users", "Users.")
    users.set(9)
    one.writer.write()
    later = Worker(tmp_path, 2)
    Gauge(later.store, "users", "Users.")
    later.writer.write()
    assert together(tmp_path).get_sample_value("users") == 9


def test_others_have_their_turn_while_it_is_found_out_what_to_write(tmp_path: Path) -> None:
    one = Worker(tmp_path, 1)
    for number in range(50):
        one.calls.labels(str(number)).inc()
    found = PendingWrite()
    steps = 0
    for _ in one.writer.gather(found):
        steps += 1
        one.calls.labels(f"new {steps}").inc()
    one.writer.save(found)
    assert steps >= 50
    assert sum(line.startswith("calls_total") for line in lines(together(tmp_path))) >= 50


def test_a_single_worker_needs_no_folder(tmp_path: Path) -> None:
    for workers in ({}, {"NUM_WORKERS": "1"}, {"NUM_WORKERS": "x"}):
        assert prepare_folder(dict(workers), tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_several_workers_find_the_same_folder(tmp_path: Path) -> None:
    environ = {"NUM_WORKERS": "4"}
    folder = prepare_folder(environ, tmp_path)
    assert folder is not None
    assert (environ[MULTIPROCESS_VARIABLE], folder.stat().st_mode & 0o777) == (str(folder), 0o700)
    assert prepare_folder({"NUM_WORKERS": "4"}, tmp_path) == folder


def test_a_folder_that_is_named_is_used_as_it_is(tmp_path: Path) -> None:
    named = tmp_path / "named"
    assert prepare_folder({MULTIPROCESS_VARIABLE: str(named)}, tmp_path) == named
    assert named.is_dir()


def test_folders_of_proxies_that_are_no_more_are_removed(tmp_path: Path) -> None:
    old = tmp_path / f"evenkeel-prometheus-{os.getuid()}-999999-1"
    strange = tmp_path / "evenkeel-prometheus-mine"
    for folder in (old, strange):
        folder.mkdir()
    prepare_folder({"NUM_WORKERS": "4"}, tmp_path)
    assert (old.exists(), strange.exists()) == (False, True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = prepare_folder({"NUM_WORKERS": "4"}, tmp_path)
    assert folder is not None
    os.chown(folder, 12345, 12345)
    with pytest.raises(SettingsError, match="expected a folder of user"):
        prepare_folder({"NUM_WORKERS": "4"}, tmp_path)


def test_a_gauge_without_labels_is_told_from_the_beginning(tmp_path: Path) -> None:
    first, second = Worker(tmp_path, 1), Worker(tmp_path, 2)
    alone, _ = [Gauge(worker.store, "alone", "No labels.") for worker in (first, second)]
    first.writer.write()
    second.writer.write()
    assert together(tmp_path).get_sample_value("alone") == 0
    # A value set by one writer is newer than the initial value of the other.
    alone.set(7)
    first.writer.write()
    second.writer.write()
    assert together(tmp_path).get_sample_value("alone") == 7


MADE_BEFORE = """
import os, sys
import prometheus_client
from prometheus_client.multiprocess import MultiProcessCollector

made = prometheus_client.Gauge("early", "Early.", multiprocess_mode="livemax")
took = prometheus_client.Histogram("took", "Took.", buckets=(1, 2))
calls = prometheus_client.Counter("calls", "Calls.", ["who"])
made.set(3)
took.observe(1.5)
calls.labels("a").inc(2)

from litellm_evenkeel.metrics.multiprocess.directory import enable_multiprocess_values

os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]
enable_multiprocess_values()
enable_multiprocess_values()
took.observe(0.5)
calls.labels("b").inc()
registry = prometheus_client.CollectorRegistry()
MultiProcessCollector(registry, sys.argv[1])
value = registry.get_sample_value
print(value("early"), value("took_count"), value("took_sum"), value("calls_total", {"who": "a"}),
      value("calls_total", {"who": "b"}))
"""


def test_metrics_that_were_made_before_the_folder_are_in_it_as_well(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name.upper() != MULTIPROCESS_VARIABLE}
    output = subprocess.run(
        [sys.executable, "-c", MADE_BEFORE, tmp_path], env=environ, capture_output=True, text=True, check=True
    )
    assert output.stdout.split() == ["3.0", "2.0", "2.0", "2.0", "1.0"]
