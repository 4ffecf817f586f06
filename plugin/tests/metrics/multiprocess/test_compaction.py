"""Files of ended workers are compacted exactly once, even if a compaction is killed."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from litellm_evenkeel.metrics.multiprocess import compaction
from litellm_evenkeel.metrics.multiprocess.compaction import PLAN_FILE, DeadWorkerCompactor
from litellm_evenkeel.metrics.multiprocess.writer import MultiprocessWriter
from litellm_evenkeel.metrics.registry.families import MetricStore
from litellm_evenkeel.metrics.registry.metric_types import Counter, Gauge, Histogram

if TYPE_CHECKING:
    from pathlib import Path

IDLE = 600.0


@pytest.fixture(scope="module")
def nobody() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    return ended.pid


class Worker:
    """A worker that counted something and ended."""

    def __init__(self, folder: Path, pid: int, *users: str, at: float | None = None) -> None:
        store = MetricStore(CollectorRegistry())
        calls = Counter(store, "calls", "Calls.", ("end_user", "model"))
        took = Histogram(store, "took", "Took.", ("end_user",), buckets=(1.0,))
        busy = Gauge(store, "busy", "Busy.", multiprocess_mode="livesum")
        left = Gauge(store, "left", "Left.", ("model",))
        for user in users:
            calls.labels(user, "m").inc(2)
            took.labels(user).observe(0.5)
        busy.set(1)
        left.labels("m").set(9)
        for family in store.families.values():
            for series in family.series.values():
                series.updated_at = series.updated_at if at is None else at
        self.store, self.writer = store, MultiprocessWriter(store, folder, pid)
        self.writer.write()

    def grows_silent(self) -> None:
        for family in self.store.families.values():
            for series in family.series.values():
                series.updated_at = 1.0

    def lets_go(self, user: str, compactor: DeadWorkerCompactor) -> None:
        self.store.retire("end_user", user)
        self.writer.write(compactor)


def samples(folder: Path) -> dict[str, float]:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]
    lines = generate_latest(registry).decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_what_they_were_writing_when_they_were_killed_goes(tmp_path: Path, nobody: int) -> None:
    torn = [tmp_path / f"counter_evenkeel-1-{pid}.new" for pid in (nobody, os.getpid())]
    strange = tmp_path / "somebodys.new"
    for path in (*torn, strange):
        path.write_bytes(b"torn")
        os.utime(path, (1.0, 1.0))
    DeadWorkerCompactor(tmp_path).compact()
    assert [path.exists() for path in (*torn, strange)] == [False, True, True]


def test_where_nobody_may_write_scrapes_are_answered_and_nothing_is_buried(tmp_path: Path, nobody: int) -> None:
    Worker(tmp_path, nobody, "a")
    (tmp_path / "evenkeel-lock").mkdir()
    counted = {name: value for name, value in samples(tmp_path).items() if name.startswith(("calls", "took"))}
    DeadWorkerCompactor(tmp_path).compact()

    async def scraped() -> dict[str, float]:
        async with DeadWorkerCompactor(tmp_path).read_lock():
            return samples(tmp_path)

    # What was said of now goes, for that takes no lock.
    assert asyncio.run(scraped()) == counted


def test_what_they_counted_stays_and_what_they_said_of_now_goes(tmp_path: Path, nobody: int) -> None:
    Worker(tmp_path, nobody, "a", "None")
    Worker(tmp_path, os.getpid(), "a")
    before = samples(tmp_path)
    DeadWorkerCompactor(tmp_path).compact()
    after = samples(tmp_path)
    assert {**before, "busy": 1.0} == after
    assert (after['calls_total{end_user="a",model="m"}'], after['left{model="m"}']) == (4, 9)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show which processes have ended")
def test_a_worker_whose_supervisor_has_not_noticed_its_end_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        Worker(tmp_path, ended.pid, "ann")
        DeadWorkerCompactor(tmp_path, IDLE).compact()
        assert not list(tmp_path.glob(f"*{ended.pid}*"))
    assert samples(tmp_path)['calls_total{end_user="ann",model="m"}'] == 2


def test_what_is_retired_of_a_worker_that_left_histograms_only_is_known_too(tmp_path: Path, nobody: int) -> None:
    Worker(tmp_path, nobody, "old", at=1.0)
    for path in tmp_path.glob("counter_*"):
        path.unlink()
    DeadWorkerCompactor(tmp_path, IDLE).compact()
    assert samples(tmp_path) == {
        'evenkeel_metrics_removed_series_total{metric="took_count"}': 1,
        'evenkeel_metrics_removed_series_total{metric="took_sum"}': 0.5,
    }


def test_there_is_one_file_of_a_kind_however_many_have_died(tmp_path: Path, nobody: int) -> None:
    for number in range(5):
        Worker(tmp_path, nobody, f"u{number % 2}")
        DeadWorkerCompactor(tmp_path).compact()
    assert sorted(path.name for path in tmp_path.glob("*.db")) == [
        "counter_evenkeel-together.db",
        "histogram_evenkeel-together.db",
    ]
    assert samples(tmp_path)['calls_total{end_user="u0",model="m"}'] == 6
    assert 'left{model="m"}' not in samples(tmp_path)


def test_names_that_nobody_has_heard_of_for_long_are_not_kept_but_what_they_came_to_is(
    tmp_path: Path, nobody: int
) -> None:
    Worker(tmp_path, nobody, "old", "None", at=1.0)
    Worker(tmp_path, nobody, "new")
    DeadWorkerCompactor(tmp_path, IDLE).compact()
    found = samples(tmp_path)
    assert [f'calls_total{{end_user="{user}",model="m"}}' in found for user in ("old", "None", "new")] == [
        False,
        True,
        True,
    ]
    retired = {name: value for name, value in found.items() if name.startswith("evenkeel_metrics_removed_series_total")}
    assert retired == {
        f'evenkeel_metrics_removed_series_total{{metric="{name}"}}': value
        for name, value in (("calls_total", 2), ("took_count", 1), ("took_sum", 0.5))
    }


A = 'calls_total{end_user="a",model="m"}'


def test_what_one_worker_lets_go_stays_as_long_as_another_tells_it(tmp_path: Path) -> None:
    one, other = Worker(tmp_path, os.getpid(), "a", at=1.0), Worker(tmp_path, os.getppid(), "a")
    one.lets_go("a", DeadWorkerCompactor(tmp_path, IDLE))
    assert samples(tmp_path)[A] == 4
    DeadWorkerCompactor(tmp_path, IDLE).compact()
    assert samples(tmp_path)[A] == 4
    other.grows_silent()
    other.lets_go("a", DeadWorkerCompactor(tmp_path, IDLE))
    assert samples(tmp_path)[A] == 4
    # No worker has the series, and it has been idle for long: all of it is removed at once.
    DeadWorkerCompactor(tmp_path, IDLE).compact()
    found = samples(tmp_path)
    assert A not in found
    retired = {"calls_total": 4, "took_count": 2, "took_sum": 1}
    assert {name: found[f'evenkeel_metrics_removed_series_total{{metric="{name}"}}'] for name in retired} == retired


def test_what_was_heard_of_lately_stays_though_nobody_tells_it(tmp_path: Path) -> None:
    one = Worker(tmp_path, os.getpid(), "a")
    one.lets_go("a", DeadWorkerCompactor(tmp_path, IDLE))
    DeadWorkerCompactor(tmp_path, IDLE).compact()
    assert samples(tmp_path)[A] == 2


def test_while_somebody_reads_a_worker_keeps_what_it_lets_go(tmp_path: Path) -> None:
    one = Worker(tmp_path, os.getpid(), "a")
    with DeadWorkerCompactor(tmp_path)._locked(is_exclusive=False):
        one.lets_go("a", DeadWorkerCompactor(tmp_path))
    assert samples(tmp_path)[A] == 2
    assert not list(tmp_path.glob("*together*"))
    one.writer.write(DeadWorkerCompactor(tmp_path))
    assert samples(tmp_path)[A] == 2
    assert len(list(tmp_path.glob("*together.db"))) == 2


def test_what_could_not_be_done_at_once_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Worker(tmp_path, os.getpid(), "a")
    plain = type(tmp_path).replace

    def full(self: Path, target: Path) -> Path:
        if "together" in target.name:
            raise OSError(28, "No space left on device")
        return plain(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(type(tmp_path), "replace", full)
        one.lets_go("a", DeadWorkerCompactor(tmp_path))
    for _ in range(2):
        one.writer.write(DeadWorkerCompactor(tmp_path))
        DeadWorkerCompactor(tmp_path).compact()
        assert samples(tmp_path)[A] == 2


def test_whoever_is_killed_while_he_lets_go_nothing_is_counted_twice_or_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    was_killed, which = True, 0
    while was_killed:
        folder = tmp_path / str(which)
        folder.mkdir()
        worker = Worker(folder, os.getpid(), "a", "b")
        with monkeypatch.context() as patched:
            killing(patched, type(folder), which)
            try:
                worker.lets_go("a", DeadWorkerCompactor(folder))
                was_killed = False
            except Killed:
                which += 1
        # Another worker finds the remains.
        DeadWorkerCompactor(folder).compact()
        assert [samples(folder)[A.replace('"a"', f'"{user}"')] for user in "ab"] == [2, 2]
    assert which > 6


class Killed(BaseException):
    """Conditions that cannot be corrected."""


def killing(monkeypatch: pytest.MonkeyPatch, path: type[Path], which: int) -> None:
    """Die at the so-maniest thing that is done to a file."""
    number = itertools.count()
    for name in ("replace", "unlink", "open", "write_text"):
        plain = getattr(path, name)

        def dying(self: Path, *values: Any, plain: Any = plain, **named: Any) -> Any:
            if next(number) == which:
                raise Killed
            return plain(self, *values, **named)

        monkeypatch.setattr(path, name, dying)


def test_whoever_is_killed_meanwhile_nothing_is_counted_twice_or_lost(
    tmp_path: Path, nobody: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    was_killed, which = True, 0
    while was_killed:
        Worker(tmp_path, nobody, "a")
        with monkeypatch.context() as patched:
            killing(patched, type(tmp_path), which)
            try:
                DeadWorkerCompactor(tmp_path).compact()
                was_killed = False
            except Killed:
                which += 1
        DeadWorkerCompactor(tmp_path).compact()
        assert samples(tmp_path)['calls_total{end_user="a",model="m"}'] == 2 * (which + (not was_killed))
    assert which > 6
    assert not (tmp_path / PLAN_FILE).exists()


async def test_who_reads_sees_all_of_it_while_others_bury(tmp_path: Path, nobody: int) -> None:
    Worker(tmp_path, os.getpid(), "a")
    is_over, counted = threading.Event(), 1

    def burying() -> None:
        while not is_over.is_set():
            DeadWorkerCompactor(tmp_path).compact()

    threads = [threading.Thread(target=burying) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            Worker(tmp_path, nobody, "a")
            counted += 1
            async with DeadWorkerCompactor(tmp_path).read_lock():
                assert samples(tmp_path)['calls_total{end_user="a",model="m"}'] == 2 * counted
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


async def test_who_never_ends_is_not_waited_for(tmp_path: Path, nobody: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LOCK_TIMEOUT_SECONDS", 0.05)
    Worker(tmp_path, nobody, "a")
    with DeadWorkerCompactor(tmp_path)._locked(is_exclusive=True):
        async with asyncio.timeout(5), DeadWorkerCompactor(tmp_path).read_lock():
            assert samples(tmp_path)
        # No other worker begins with it.
        DeadWorkerCompactor(tmp_path).compact()
    assert not list(tmp_path.glob("*together*"))
