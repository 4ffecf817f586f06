"""Sessions of functions: the engine without the minutes that proxies take."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenkeel_lab.errors import RigFailure, ScheduleMissed, WrongUse
from evenkeel_lab.investigation_spec import Investigation
from evenkeel_lab.investigation_spec.session import Key
from evenkeel_lab.progress import Silent
from evenkeel_lab.report.caveats import caveats_of
from evenkeel_lab.runner.function import Measured
from evenkeel_lab.runner.measurement.run import Run
from evenkeel_lab.runner.results.analysis import Judgement, judge_session
from evenkeel_lab.runner.results.provenance import Provenance
from evenkeel_lab.runner.results.store import Store, digest
from evenkeel_lab.runner.results.summary import gather
from evenkeel_lab.runner.schedule import ScheduledPair, schedule
from evenkeel_lab.runner.session import Session
from evenkeel_lab.runner.targets import Target
from evenkeel_lab.runner.warm_up import COLD
from evenkeel_lab.stack.stack import Options
from evenkeel_lab.stats import Kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from evenkeel_lab.investigation_spec.investigation import Load
    from evenkeel_lab.runner.subjects import Subjects
    from evenkeel_lab.runner.warm_up import WarmUp

FUNCTION = "evenkeel_lab.bench.verdicts.simulation:median"
STUDY = 'title = "x"\nquestion = "Why?"\nmethod = "x"\nlimits = ["x"]\n'


def investigation(effect: float, *, looks: tuple[int, ...] = (6,)) -> Investigation:
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "plain",
            "arms": {
                "plain": {"about": "a simulation", "subject": "function", "function": FUNCTION},
                "slower": {
                    "about": "a slower one",
                    "subject": "function",
                    "function": FUNCTION,
                    "arguments": {"effect": effect},
                },
            },
            "figures": {"value": {"margin": 0.05, "primary": True}},
            "session": {"looks": looks},
        }
    )


class Listening:
    """Remembers which pairs have come to their end, and stops at one of them."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.heard: list[str] = []
        self._stop_after = stop_after

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        self.heard.append(scheduled.name)
        if len(self.heard) == self._stop_after:
            raise KeyboardInterrupt


def session(folder: Path, wanted: Investigation, told: Listening | None = None) -> Session:
    return Session("x", wanted, Store(folder), Options(), Silent(), told or Listening(), Event())


def test_a_large_effect_is_found_and_ends_the_session_at_the_first_look(tmp_path: Path) -> None:
    told = Listening()
    wanted = investigation(0.3, looks=(6, 12, 24))
    found = asyncio.run(session(tmp_path, wanted, told).conduct())
    assert len(told.heard) == 6
    (comparison,) = found.comparisons
    assert comparison.figures[0].verdict is not None
    assert (comparison.figures[0].verdict.kind, found.settled, found.invalid) == (Kind.MATERIAL, True, [])


def test_with_always_valid_intervals_a_session_ends_as_soon_as_it_is_settled(tmp_path: Path) -> None:
    listening = Listening()
    fields = investigation(0.5).model_dump() | {"session": {"looks": [24], "always_valid": True}}
    judgement = asyncio.run(session(tmp_path, Investigation.model_validate(fields), listening).conduct())
    assert judgement.settled
    assert 6 <= len(listening.heard) < 24


def test_a_session_can_end_before_a_look_if_it_has_enough(tmp_path: Path) -> None:
    listening = Listening()
    ending = session(tmp_path, investigation(0.0), listening)
    ending.is_enough = lambda done: len(done) == 2
    asyncio.run(ending.conduct())
    assert len(listening.heard) == 2
    # A resumed session has enough from the beginning.
    resumed = session(tmp_path, investigation(0.0), listening)
    resumed.is_enough = ending.is_enough
    asyncio.run(resumed.conduct())
    assert len(listening.heard) == 2


@pytest.mark.parametrize("seed", range(3))
def test_a_boot_counts_once_with_the_mean_of_its_pairs(seed: int) -> None:
    fields = proxies().model_dump() | {"session": {"looks": [24], "pairs_per_boot": 4, "noise": False}}
    wanted = Investigation.model_validate(fields)
    chance = np.random.default_rng(seed)
    # All pairs of a boot are slower or faster by the same factor.
    by_boot = np.repeat(chance.normal(0, 0.1, 6), 4)
    done = {
        scheduled.name: runs(scheduled, float(np.exp(by_boot[scheduled.pair - 1])))
        for scheduled in schedule(wanted, 24)
    }
    (comparison,) = judge_session(wanted, done, 24).comparisons
    (p50,) = (figure for figure in comparison.figures if figure.metric.name == "p50")
    assert comparison.pairs == 6
    assert p50.verdict is not None
    assert p50.verdict.mean == pytest.approx(by_boot.mean())


def measure(seed: int, *, effect: float = 0.0) -> Measured:
    return Measured({"success_share": 1.0 - effect - seed % 7 / 1e6, "p50": 100.0, "p99": math.nan}, 60, {})


async def measure_later(seed: int, *, effect: float = 0.0) -> Measured:
    await asyncio.sleep(0)
    return measure(seed, effect=effect)


@pytest.mark.parametrize("name", ["measure", "measure_later"])
def test_a_function_may_measure_several_metrics(tmp_path: Path, name: str) -> None:
    fields = investigation(0.3).model_dump()
    for arm in fields["arms"].values():
        arm["function"] = f"{__name__}:{name}"
    fields["figures"] = {
        "success_share": {"margin": 0.01, "primary": True},
        "p50": {"margin": 0.05},
        "p99": {"margin": 0.1},
    }
    judgement = asyncio.run(session(tmp_path, Investigation.model_validate(fields)).conduct())
    (comparison,) = judgement.comparisons
    kinds = {figure.metric.name: figure.verdict.kind for figure in comparison.figures if figure.verdict is not None}
    assert kinds == {"success_share": Kind.MATERIAL, "p50": Kind.NONE}
    assert any("unknown: p99" in warning for warning in comparison.warnings)
    assert {run.requests for each in Store(tmp_path).done().values() for run in each} == {60}


def test_a_block_compares_all_its_arms(tmp_path: Path) -> None:
    fields = investigation(0.3).model_dump()
    fields["arms"]["slowest"] = fields["arms"]["slower"] | {"arguments": {"effect": 0.6}}
    fields |= {"session": {"looks": [6], "design": "blocks"}, "compare": [["slower", "slowest"]]}
    told = Listening()
    found = asyncio.run(session(tmp_path, Investigation.model_validate(fields), told).conduct())
    assert len(told.heard) == 6
    assert told.heard[0] == "001+plain+slower+slowest"
    effects = {
        (comparison.baseline, comparison.candidate): comparison.figures[0].verdict for comparison in found.comparisons
    }
    assert effects.keys() == {("plain", "slower"), ("plain", "slowest"), ("slower", "slowest")}
    assert all(verdict is not None and verdict.kind is Kind.MATERIAL for verdict in effects.values())


def test_a_stopped_session_goes_on_where_it_was(tmp_path: Path) -> None:
    wanted = investigation(0.3)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(session(tmp_path / "stopped", wanted, Listening(stop_after=4)).conduct())
    # As if it had been killed while it wrote.
    with (tmp_path / "stopped" / "pairs.jsonl").open("a") as file:
        file.write('{"name": "00')
    rest = Listening()
    resumed = asyncio.run(session(tmp_path / "stopped", wanted, rest).conduct())
    whole = asyncio.run(session(tmp_path / "whole", wanted).conduct())
    assert len(rest.heard) == 2
    assert resumed.comparisons == whole.comparisons
    # Once more there is nothing left to do.
    again = Listening()
    assert asyncio.run(session(tmp_path / "whole", wanted, again).conduct()).comparisons == whole.comparisons
    assert again.heard == []


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("session.json", "{", "cannot be read"),
        ("session.json", '{"schema": 99}', "of schema 99"),
        ("pairs.jsonl", "nonsense\n", "line 1, cannot be read"),
        ("pairs.jsonl", '{"name": "x", "runs": [{}]}\n', "line 1, is not what was written"),
        ("pairs.jsonl", '{"name": "001+a+b", "pair": 1, "runs": []}\n', "line 1, is not what was written"),
        ("session.json", "[]", "of schema None"),
        ("session.json", '{"schema": 4}', "name: field required"),
        ("warm-up.json", "", "cannot be read"),
        ("warm-up.json", "[]", "is not what was written"),
    ],
)
def test_a_folder_that_was_tampered_with_is_told(tmp_path: Path, name: str, content: str, told: str) -> None:
    asyncio.run(session(tmp_path, investigation(0.3)).conduct())
    (tmp_path / name).write_text(content)
    store = Store(tmp_path)
    with pytest.raises(RigFailure, match=told):
        {"session.json": store.head, "pairs.jsonl": store.done, "warm-up.json": store.warm_up}[name]()


def test_other_words_ask_for_nothing_else(tmp_path: Path) -> None:
    wanted = investigation(0.3)
    other = wanted.model_copy(update={"title": "y", "question": "y"})
    assert digest(wanted) == digest(other) != digest(investigation(0.4))
    asyncio.run(session(tmp_path, wanted).conduct())
    rest = Listening()
    asyncio.run(session(tmp_path, other, rest).conduct())
    assert rest.heard == []
    assert gather(Store(tmp_path)).investigation.title == "y"


def test_what_was_believed_stays_as_it_was_when_it_was_measured(tmp_path: Path) -> None:
    wanted = investigation(0.3)
    wiser = wanted.model_copy(update={"hypothesis": "We knew it.", "title": "y"})
    store = Store(tmp_path)
    store.begin("x", wanted, Provenance())
    store.reword(wanted.model_copy(update={"hypothesis": "Now."}))
    assert store.head().investigation.hypothesis == "Now."
    asyncio.run(session(tmp_path, wanted).conduct())
    asyncio.run(session(tmp_path, wiser).conduct())
    found = gather(store).investigation
    assert (found.title, found.hypothesis) == ("y", wanted.hypothesis)


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        ("evenkeel_lab.bench.verdicts.simulation:nothing", {}, "no function"),
        ("evenkeel_lab.bench.verdicts.simulation:RUN", {}, "is no function"),
        ("math:sqrt", {"effect": 1}, "of slower, failed with seed"),
        ("math:log1p", {}, None),
        ("builtins:str", {}, "returned '"),
        ("builtins:bool", {}, "returned True"),
        (FUNCTION, {"effect": float("inf")}, "of slower, failed"),
    ],
)
def test_a_function_that_tells_no_number_is_a_sentence(
    tmp_path: Path, function: str, arguments: dict[str, Any], told: str | None
) -> None:
    describe_bound = investigation(0.3).model_dump()
    describe_bound["arms"]["slower"] |= {"function": function, "arguments": arguments}
    wanted = session(tmp_path, Investigation.model_validate(describe_bound))
    if told is None:
        asyncio.run(wanted.conduct())
        return
    with pytest.raises(WrongUse, match=told):
        asyncio.run(wanted.conduct())


def test_what_the_rig_lets_down_does_not_count_and_what_is_broken_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: RigFailure = ScheduleMissed("it came too late", hint="wait")

    def let_down(_: int, *, effect: float = 0.0) -> float:
        if effect:
            raise told
        return 1.0

    monkeypatch.setattr("evenkeel_lab.bench.verdicts.simulation.median", let_down)
    found = asyncio.run(session(tmp_path / "late", investigation(0.3)).conduct())
    assert found.invalid == ["gates: 6 pairs of slower against plain are invalid: pair 1: it came too late"]
    told = RigFailure("a server is gone", hint="see its log")
    with pytest.raises(RigFailure, match="a server is gone"):
        asyncio.run(session(tmp_path / "gone", investigation(0.3)).conduct())


def test_runs_of_a_subject_that_is_not_warm_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.asynccontextmanager
    async def cold(_: str, warm_up: WarmUp, *__: object, measured: bool, **___: object) -> AsyncIterator[Subjects]:
        assert measured
        warm_up.costs["slower"] = [90.0, 60.0, 50.0]  # its runs have no CPU time, so it never gets warm
        yield lambda scheduled: contextlib.nullcontext(
            {name: Target(name, name, "", "", "") for name in scheduled.arms}
        )

    monkeypatch.setattr("evenkeel_lab.runner.session.subjects", cold)
    found = asyncio.run(session(tmp_path, investigation(0.3)).conduct())
    runs = [run for runs in Store(tmp_path).done().values() for run in runs]
    assert {(run.arm, run.limited) for run in runs} == {("plain", ()), ("slower", (COLD,))}
    assert not found.settled
    assert found.invalid == [f"gates: 6 pairs of slower against plain are invalid: pair 1: {COLD}"]


def test_functions_are_called_one_after_the_other(tmp_path: Path) -> None:
    asyncio.run(session(tmp_path, investigation(0.3)).conduct())
    for runs in Store(tmp_path).done().values():
        first, second = sorted(runs, key=lambda run: run.start_ns)
        assert first.start_ns + first.seconds * 1e9 <= second.start_ns + 1e6
        assert not first.cores


def test_the_keys_of_a_pair_are_forgotten_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.asynccontextmanager
    async def warm(*_: object, **__: object) -> AsyncIterator[Subjects]:
        yield lambda scheduled: contextlib.nullcontext(
            {name: Target(name, name, "", "", "") for name in scheduled.arms}
        )

    both = asyncio.Barrier(2)

    async def forgotten(target: Target, _: Load, state: Key) -> Target:
        assert state is Key.FORGOTTEN
        async with asyncio.timeout(10), both:
            return target

    monkeypatch.setattr("evenkeel_lab.runner.session.subjects", warm)
    monkeypatch.setattr("evenkeel_lab.runner.session.with_fresh_key", forgotten)
    wanted = investigation(0.3)
    wanted = wanted.model_copy(update={"session": wanted.session.model_copy(update={"key": Key.FORGOTTEN})})
    assert asyncio.run(session(tmp_path, wanted).conduct()).settled


def runs(scheduled: ScheduledPair, value: float, limited: tuple[str, ...] = ()) -> list[Run]:
    base = 100 + scheduled.pair % 3
    return [
        Run(arm, 0, 1.0, 100, {"p50": base * (value if arm in {"on", "again"} else 1.0)}, limited=limited)
        for arm in scheduled.arms
    ]


def proxies() -> Investigation:
    return Investigation.model_validate(
        {
            "title": "x",
            "question": "x",
            "hypothesis": "x",
            "baseline": "off",
            "arms": {"off": {"about": "off"}, "on": {"about": "on", "prometheus": "stock"}},
            "figures": {"p50": {"margin": 0.05, "primary": True}, "p99": {"margin": 0.1}},
            "session": {"looks": [12]},
        }
    )


def test_a_difference_between_two_that_are_the_same_invalidates_everything() -> None:
    wanted = proxies()
    done = {one.name: runs(one, 1.2 + one.pair / 1000) for one in schedule(wanted, 12)}
    found = judge_session(wanted, done, 12)
    assert found.settled
    assert found.invalid == ["noise: p50 differs between two proxies that are the same"]
    assert any("unknown: p99" in why for one in found.comparisons for why in one.warnings)


def test_one_that_is_shown_to_be_within_the_margin_is_the_noise_floor() -> None:
    wanted = proxies()
    done = {one.name: runs(one, 1.01 + one.pair / 10_000) for one in schedule(wanted, 12)}
    found = judge_session(wanted, done, 12)
    verdict = found.comparisons[-1].figures[0].verdict
    assert verdict is not None
    assert (verdict.kind, found.invalid) == (Kind.NEGLIGIBLE, [])


def test_runs_that_failed_a_gate_do_not_count_and_many_of_them_invalidate_everything() -> None:
    wanted = proxies()
    late = ("requests were sent late",)
    done = {one.name: runs(one, 1.0, late if one.pair <= 2 else ()) for one in schedule(wanted, 12)}
    found = judge_session(wanted, done, 12)
    assert [one.pairs for one in found.comparisons] == [10, 10]
    assert found.invalid == []
    done = {one.name: runs(one, 1.0, late if one.pair <= 4 else ()) for one in schedule(wanted, 12)}
    invalid = judge_session(wanted, done, 12).invalid
    assert len(invalid) == 2
    assert all(why.startswith("gates: 4 pairs") for why in invalid)


def test_no_pair_begins_that_would_not_end_in_time(tmp_path: Path) -> None:
    wanted = investigation(0.0, looks=(6, 24))
    hasty = wanted.model_copy(update={"session": wanted.session.model_copy(update={"seconds": 1e-6})})
    heard = Listening()
    judgement = asyncio.run(session(tmp_path, hasty, heard).conduct())
    # One is measured in any case, and in full.
    assert len(heard.heard) == 1
    assert not judgement.settled
    # What a clock has ended stays as it is.
    asyncio.run(session(tmp_path, hasty, heard).conduct())
    assert len(heard.heard) == 1
    assert not any(one.name == "no-look" for one in caveats_of(gather(Store(tmp_path)), judgement, None))


class Slow(Listening):
    """Takes its time to hear of a pair."""

    def pair_done(self, scheduled: ScheduledPair, runs: list[Run], judgement: Judgement, left: float) -> None:
        super().pair_done(scheduled, runs, judgement, left)
        time.sleep(0.3)


def test_where_pairs_take_long_there_is_time_for_those_that_a_verdict_needs(tmp_path: Path) -> None:
    wanted = investigation(0.0, looks=(24,))
    hasty = wanted.model_copy(update={"session": wanted.session.model_copy(update={"seconds": 1.6})})
    heard = Slow()
    judgement = asyncio.run(session(tmp_path, hasty, heard).conduct())
    assert judgement.has_basis
    assert len(heard.heard) == 6


def test_where_there_would_be_too_few_of_them_all_the_same_no_time_is_spent_on_them(tmp_path: Path) -> None:
    wanted = investigation(0.0, looks=(24,))
    hasty = wanted.model_copy(update={"session": wanted.session.model_copy(update={"seconds": 0.7})})
    heard = Slow()
    assert not asyncio.run(session(tmp_path, hasty, heard).conduct()).has_basis
    assert len(heard.heard) < 5
