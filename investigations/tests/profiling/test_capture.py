"""Profiles of a whole investigation: of functions here, of real proxies in test_proxies."""

from __future__ import annotations

import asyncio
import gc
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from evenkeel_lab.cli.investigate import command as cli
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.profiling import in_process_probe
from evenkeel_lab.profiling.capture import FOLDER, Profiler
from evenkeel_lab.profiling.profile import FILE, read
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.results.store import Store
from evenkeel_lab.runner.session import Session
from evenkeel_lab.stack.probes.stacks_of_proxy import COLLECTION, Sampler
from evenkeel_lab.stack.stack import Options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from evenkeel_lab.runner.measurement.run import Run
    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.schedule import ScheduledPair
    from evenkeel_lab.runner.targets import Target

# A function in Python that is imported at once: of a seed it makes a number.
FUNCTION = "fractions:Fraction"
NAME = "fractions.py:Fraction.__new__"


class Counting:
    def __init__(self) -> None:
        self.pairs = 0

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        self.pairs += 1


def investigation() -> Investigation:
    function = {"about": "a simulation", "subject": "function", "function": FUNCTION}
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "plain",
            "arms": {
                "plain": function | {"arguments": {"denominator": 3}},
                "slower": function | {"arguments": {"denominator": 2}},
            },
            "figures": {"value": {"margin": 0.05, "primary": True}},
            "session": {"looks": [6]},
        }
    )


def session(folder: Path, told: Counting, *after: Callable[[Mapping[str, Target]], Awaitable[None]]) -> Session:
    store = Store(folder)
    return Session("x", investigation(), store, Options(), Silent(), told, Event(), after)


def profiler(folder: Path) -> Profiler:
    return Profiler("x", investigation(), Store(folder), Silent(), Event(), (in_process_probe.record,), seconds=0.5)


def test_a_settled_session_is_only_profiled_and_stays_as_it_was(tmp_path: Path) -> None:
    told = Counting()
    asyncio.run(session(tmp_path, told).conduct())
    before = (tmp_path / "pairs.jsonl").read_bytes()
    judged = asyncio.run(session(tmp_path, told, profiler(tmp_path)).conduct())
    assert (told.pairs, judged.settled) == (6, True)
    assert (tmp_path / "pairs.jsonl").read_bytes() == before
    found = read(tmp_path / FILE)
    assert (found.baseline, sorted(found.arms), found.skipped) == ("plain", ["plain", "slower"], {})
    for taken in found.arms.values():
        assert (taken.sampler, taken.unit, taken.covered) == (in_process_probe.NAME, "call", pytest.approx(1, abs=0.2))
        assert taken.requests > 1
        assert taken.slowdown is not None
        assert taken.functions[NAME].cumulated > 0.2 * sum(taken.stacks.values())
    assert str(tmp_path) not in (tmp_path / FILE).read_text()


def test_a_profile_that_is_stopped_is_not_written(tmp_path: Path) -> None:
    asyncio.run(session(tmp_path, Counting()).conduct())
    endless = replace(profiler(tmp_path), seconds=600.0)

    async def stopped() -> None:
        task = asyncio.create_task(endless({}))
        while not list((tmp_path / FOLDER).glob("plain/calls-*")):  # another process writes it
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    assert not list(tmp_path.glob("profile.json*"))


def test_the_mock_is_skipped(tmp_path: Path) -> None:
    asyncio.run(session(tmp_path, Counting()).conduct())
    mock = {"about": "the mock", "subject": "mock"}
    wanted = Investigation.model_validate(
        investigation().model_dump()
        | {"arms": {"plain": mock, "other": mock}, "figures": {"p50": {"margin": 0.05, "primary": True}}}
    )
    asyncio.run(replace(profiler(tmp_path), investigation=wanted)({}))
    assert list(read(tmp_path / FILE).skipped) == ["other", "plain"]


def test_the_command_keeps_a_profile_where_the_summary_is(
    tmp_path: Path, simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "Profiler", partial(Profiler, samplers=(in_process_probe.record,), seconds=0.3))
    answer = CliRunner().invoke(cli.investigate, ["simulated", "--profile"])
    assert answer.exit_code == 0, answer.output
    assert set(read(simulated / FILE).arms) == {"plain", "slower"}
    assert "### `slower`" in (tmp_path / "reports" / "simulated.md").read_text()
    assert (tmp_path / "reports" / "simulated" / "flame-slower.svg").exists()


def test_the_profile_of_a_first_impression_is_not_committed(
    tmp_path: Path, simulated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "Profiler", partial(Profiler, samplers=(in_process_probe.record,), seconds=0.3))
    answer = CliRunner().invoke(cli.investigate, ["simulated", "--profile", "--quick"])
    assert answer.exit_code == 0, answer.output
    page = Path(answer.stdout.splitlines()[-1])
    assert "### `slower`" in page.read_text()
    assert not (simulated / FILE).exists()
    assert not (tmp_path / "reports").exists()


def test_a_whole_garbage_collection_is_told_apart() -> None:
    sampler = Sampler(100)
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        gc.collect()
    told = sampler.end()
    found = told["stacks"]
    assert sum(told["collections"].values()) == pytest.approx(found[COLLECTION[0]], rel=0.2)
    assert found[COLLECTION[0]] > 0.5 * sum(found.values())
    samples = sampler.samples
    assert sum(range(10**6))
    assert sampler.samples == samples
