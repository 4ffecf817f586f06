"""Metrics of the rotation in a registry."""

from __future__ import annotations

import asyncio
import math
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from litellm_evenkeel.instrumentation.export import SampleCollector, SampleWriter, exposition
from litellm_evenkeel.instrumentation.label_limit import LabelLimiter
from litellm_evenkeel.providers.classifier import Failure
from litellm_evenkeel.providers.failure import FailureKind, FailureScope
from litellm_evenkeel.providers.response_usage import ResponseUsage
from litellm_evenkeel.rotation.affinity.session_table import SessionTable
from litellm_evenkeel.rotation.attempts import Attempt, ClientRequest
from litellm_evenkeel.rotation.controls.control_table import ControlTable
from litellm_evenkeel.rotation.inspection import metric_definitions
from litellm_evenkeel.rotation.inspection.gauges import Gauges
from litellm_evenkeel.rotation.inspection.metrics import RotationMetrics
from litellm_evenkeel.rotation.model.blocker import Blocker, BlockReason
from litellm_evenkeel.rotation.model.deployment import DeploymentSpec
from litellm_evenkeel.rotation.model.limits import Limits
from litellm_evenkeel.rotation.model.request import PickRequest, Usage
from litellm_evenkeel.rotation.pool.account_pool import AccountPool
from litellm_evenkeel.rotation.selection.pick import NoCapacity
from litellm_evenkeel.rotation.settings import AffinitySettings, RotationSettings

if TYPE_CHECKING:
    from pathlib import Path

P = metric_definitions.PREFIX


def fail(operation: str, error: Exception) -> None:
    raise AssertionError(operation) from error


class World:
    """Something to look at, and a registry to look with."""

    def __init__(self, *, most_accounts: int = 200, **limits: dict | None) -> None:
        self.time = 1_000_000.0
        self.pool = AccountPool(RotationSettings(), clock=self.now, random=random.Random(1).random)
        self.candidates = self.pool.candidate_set(
            "m",
            [DeploymentSpec(f"id-{name}", name, "gpt", limits=Limits.of(told, name)) for name, told in limits.items()],
        )
        self.sessions = SessionTable(AffinitySettings())
        self.controls = ControlTable(self.now)
        self.registry = CollectorRegistry()
        self.metrics = RotationMetrics(self.registry, max_accounts=most_accounts)
        self.is_shared: bool | None = None
        self.gauges = Gauges(self, self.metrics.accounts, self.metrics.models, lambda: self.is_shared)

    def now(self) -> float:
        return self.time

    def candidate_sets(self) -> list:
        return [self.candidates]

    def session_counts(self) -> object:
        return self.sessions.counts()

    def queue_lengths(self) -> dict[str, int]:
        return {"m": 3}

    def candidate_cache_counts(self) -> tuple[int, int]:
        return 7, 2

    def attempt(self, account: str, tokens: float = 0.0) -> Attempt:
        pick = self.pool.pick(self.candidates, PickRequest(Usage(1, tokens), preferred_account=account))
        self.metrics.on_pick(pick, 2e-5)
        return Attempt(pick, "m", ClientRequest())

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"{P}{name}", labels)


def test_what_happens_is_counted() -> None:
    on = World(a=None, b=None)
    one, other = on.attempt("a"), on.attempt("a")
    on.metrics.on_failure(one, Failure(FailureKind.RATE_LIMIT, FailureScope.ACCOUNT, None, "rule"))
    on.metrics.on_success(other, ResponseUsage(prompt_tokens=10, output_tokens=5, cached_tokens=4))
    on.metrics.on_success(on.attempt("b"), ResponseUsage(is_from_cache=True))
    on.metrics.on_lost(on.attempt("b"))
    on.metrics.on_queued(0.3, is_served=False)
    on.metrics.on_rejection("m", NoCapacity(3.0, Blocker(BlockReason.LIMIT, 1.0, "rpm")))
    on.metrics.on_rejection("m", NoCapacity(math.inf, None))
    on.metrics.on_snapshot(1e-4)
    on.metrics.plugin_error("choosing")
    assert on.value("picks_total", account="a", reason="pinned") == 2
    assert on.value("pick_seconds_count") == 4
    assert on.value("attempts_total", account="a", outcome="rate_limit") == 1
    assert on.value("attempts_total", account="a", outcome="success") == 1
    assert on.value("attempts_total", account="b", outcome="cached") == 1
    assert on.value("attempts_total", account="b", outcome="lost") == 1
    assert [on.value("tokens_total", account="a", type=kind) for kind in ("prompt", "cached", "output")] == [10, 4, 5]
    assert on.value("queue_seconds_count", outcome="timeout") == 1
    assert on.value("rejections_total", model="m", reason="limit") == 1
    assert on.value("rejections_total", model="m", reason="no_candidates") == 1
    assert on.value("snapshot_rebuild_seconds_count") == 1
    assert on.value("plugin_errors_total", operation="choosing") == 1
    assert on.metrics.counts.by_account() == ({"a": {"pinned": 2}, "b": {"pinned": 2}}, {"a": {"rate_limit": 1}})


def test_what_is_read_is_as_it_is_at_the_scrape() -> None:
    on = World(a={"tpm": 1000}, b=None, c=None)
    SampleCollector(on.gauges.samples, metric_definitions.SAMPLED, on.registry, on_error=fail)
    on.attempt("a", 600)
    on.pool.fail(on.attempt("b").pick.reservation, Failure(FailureKind.QUOTA, FailureScope.ACCOUNT, 50.0, "rule"))
    on.pool.fail(on.attempt("c").pick.reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "rule"))
    assert on.value("limit_remaining_ratio", account="a", model="", limit="tokens/1m") == pytest.approx(0.4)
    assert 0 < on.value("exhaustion_seconds", account="a", model="", limit="tokens/1m") <= math.inf
    assert 50 <= on.value("cooldown_seconds", account="b", model="", reason="quota") <= 52
    assert on.value("cooldown_seconds", account="c", model="", reason="permanent") == math.inf
    assert [on.value("traffic_ratio", account=name, model="") for name in "abc"] == [1, 0, 0]
    assert on.value("in_flight", account="a") == 1
    assert on.value("queue_length", model="m") == 3
    assert on.value("candidate_cache_total", outcome="hit") == 7
    assert on.value("session_requests_total", outcome="hit") == 0
    assert on.value("shared_connected") is None
    on.time += 20
    on.is_shared = False
    assert 30 <= on.value("cooldown_seconds", account="b", model="", reason="quota") <= 32
    assert on.value("snapshot_age_seconds") >= 20
    assert on.value("shared_connected") == 0


def test_accounts_beyond_the_bound_are_one() -> None:
    on = World(most_accounts=2, **{f"a{number}": {"rpm": 100} for number in range(5)})
    SampleCollector(on.gauges.samples, metric_definitions.SAMPLED, on.registry, on_error=fail)
    for number in range(5):
        on.attempt(f"a{number}")
    assert on.value("picks_total", account="a1", reason="pinned") == 1
    assert on.value("picks_total", account="other", reason="pinned") == 3
    assert on.value("in_flight", account="other") == 3
    assert on.value("limit_remaining_ratio", account="a0", model="", limit="requests/1m") is not None
    assert on.value("limit_remaining_ratio", account="a4", model="", limit="requests/1m") is None
    on.pool.fail(on.attempt("a4").pick.reservation, Failure(FailureKind.PERMANENT, FailureScope.ACCOUNT, None, "rule"))
    assert on.value("cooldown_seconds", account="other", model="", reason="permanent") == math.inf
    assert on.value("cooldown_seconds", account="other", model="", reason="any") == 0


def test_a_label_is_kept_for_good() -> None:
    labels = LabelLimiter(2)
    assert [labels.bound(name) for name in "abcab"] == ["a", "b", "other", "a", "b"]


def test_an_error_while_reading_leaves_the_scrape_of_all_others_whole() -> None:
    registry = CollectorRegistry()
    told = []

    def broken() -> list:
        raise ValueError

    SampleCollector(
        broken, metric_definitions.SAMPLED, registry, on_error=lambda where, error: told.append((where, type(error)))
    )
    assert list(registry.collect()) == []
    assert told == [("reading metrics", ValueError)]


async def test_a_writer_goes_on_after_an_error() -> None:
    told = []

    def broken() -> list:
        raise ValueError

    writer = SampleWriter(broken, metric_definitions.SAMPLED, on_error=lambda where, _: told.append(where))
    task = asyncio.create_task(writer.keep_writing())
    while len(told) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    assert told[0] == "writing metrics"


def test_only_what_is_ours_is_exposed() -> None:
    on = World(a=None)
    SampleCollector(on.gauges.samples, metric_definitions.SAMPLED, on.registry, on_error=fail)
    names = {line.split()[2] for line in exposition(on.registry, {}).decode().splitlines() if line.startswith("# TYPE")}
    assert f"{P}picks" in {name.removesuffix("_total") for name in names}
    assert all(name.startswith(P) for name in names)


WORKER = """
import importlib.util, sys
from litellm_evenkeel.rotation.inspection import metric_definitions as series
from litellm_evenkeel.instrumentation.export import SampleWriter
spec = importlib.util.spec_from_file_location("tests", sys.argv[1])
tests = sys.modules["tests"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
on = tests.World(a={"tpm": 1000}, b=None)
writer = SampleWriter(on.gauges.samples, series.SAMPLED, on_error=tests.fail)
on.attempt("a", float(sys.argv[2]))
failure = tests.Failure(tests.FailureKind.QUOTA, tests.FailureScope.ACCOUNT, 50.0, "rule")
on.pool.fail(on.attempt("b").pick.reservation, failure)
for times in range(2):
    for _ in writer.write_in_slices():
        pass
    if sys.argv[3] == "held":
        break
    on.pool.release_account("b")
"""
READER = "from litellm_evenkeel.instrumentation.export import exposition; print(exposition().decode())"


def test_several_processes_are_one_truth(tmp_path: Path) -> None:
    folder = tmp_path / "prometheus"
    folder.mkdir()
    environ = {"PROMETHEUS_MULTIPROC_DIR": str(folder)}

    def run(code: str, *arguments: str) -> str:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout

    run(WORKER, __file__, "600", "free")
    run(WORKER, __file__, "100", "free")
    told = dict(line.rsplit(" ", 1) for line in run(READER).splitlines() if line and not line.startswith("#"))
    assert told[f'{P}picks_total{{account="a",reason="pinned"}}'] == "2.0"
    assert told[f'{P}candidate_cache_total{{outcome="hit"}}'] == "14.0"
    # Neither process lives, so far as files tell: both count until they are marked dead.
    assert float(told[f'{P}limit_remaining_ratio{{account="a",limit="tokens/1m",model=""}}']) == pytest.approx(0.4)
    assert told[f'{P}in_flight{{account="a"}}'] == "2.0"
    assert told[f'{P}cooldown_seconds{{account="b",model="",reason="quota"}}'] == "0.0"
    run(WORKER, __file__, "0", "held")
    told = dict(line.rsplit(" ", 1) for line in run(READER).splitlines() if line and not line.startswith("#"))
    assert 50 <= float(told[f'{P}cooldown_seconds{{account="b",model="",reason="quota"}}']) <= 52
    assert not [name for name in told if "pid=" in name]
