"""The benchmark of `evenkeel bisect`, with comparisons that are made up."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel_lab.bench import bisection
from evenkeel_lab.errors import WrongUse
from evenkeel_lab.progress import Silent
from evenkeel_lab.runner.bisection import comparer
from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.bisection.search import CERTAINTY
from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenkeel_lab.runner.bisection.comparison import Plan


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all comparisons of a benchmark whose proxies differ by exactly what was planted."""
    (tmp_path / "investigations").mkdir()
    monkeypatch.chdir(tmp_path)
    names: list[str] = []

    async def made_up(plan: Plan, release: str, is_enough: Callable[[BootEffects], bool], **_: Any) -> BootEffects:
        names.append(f"{plan.folder.name}: {release}")
        share, boots = float(plan.arm_of(release)["env"]["SLOWER_SHARE"]), 1
        while not is_enough(effects := BootEffects([share - 0.005, share + 0.005] * boots, Scale.FACTOR)):
            boots += 1
        return effects

    monkeypatch.setattr(comparer, "compare_releases", made_up)
    return names


def run(regressions: int = 7, without: int = 2) -> dict[str, float]:
    metrics = asyncio.run(
        bisection.bench_bisect(Silent(), regressions=bisection.REGRESSIONS[:regressions], without=without)
    )
    return {metric.name: metric.value for metric in metrics}


def test_all_planted_regressions_are_found_and_none_where_there_is_none(measured: list[str]) -> None:
    assert run() == {
        "planted_found_share": 1.0,
        "searches_over_budget": 0,
        "false_alarm_share": 0.0,
        "searches_without_result": 0,
    }


def test_each_release_but_the_first_has_a_regression_of_each_size() -> None:
    planted = {(bisection.planted_in(number), size) for number, size in enumerate(bisection.REGRESSIONS)}
    assert planted == {(release, size) for release in range(1, 5) for size in bisection.REGRESSIONS}


def test_a_search_in_the_ledger_is_not_run_again(measured: list[str], tmp_path: Path) -> None:
    run(1, 1)
    before = len(measured)
    run(1, 2)
    assert [name.partition(":")[0] for name in measured[before:]] == ["none-1"]
    ledger = json.loads((tmp_path / "investigations" / bisection.LEDGER).read_text())
    planted = ledger["searches"]["planted-0"]
    assert (planted["planted_in"], planted["first_bad"]) == ("release-2", "release-2")
    assert planted["comparisons"][0].startswith("release-5: +5.0 % (boots: +4.5, +5.5")
    assert planted["probability"] >= CERTAINTY


def test_boots_of_a_ledger_that_was_deleted_do_not_count(measured: list[str], tmp_path: Path) -> None:
    boots = tmp_path / "data" / bisection.FOLDER / "planted-0"
    boots.mkdir(parents=True)
    run(1, 0)
    assert not boots.exists()


def test_a_search_that_was_not_measured_is_no_silence(monkeypatch: pytest.MonkeyPatch, measured: list[str]) -> None:
    async def late(*_: Any, **__: Any) -> BootEffects:
        return BootEffects([0.05], Scale.FACTOR)

    monkeypatch.setattr(comparer, "compare_releases", late)
    found = run(1, 1)
    assert (found["planted_found_share"], found["false_alarm_share"], found["searches_without_result"]) == (0, 0, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"budget": 1}}, "have other settings"),
        ({"schema": 3}, "is of schema 3"),
        ({"searches": 1}, "is not what was written"),
    ],
)
def test_a_ledger_of_other_searches_is_refused(
    measured: list[str], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    run(1, 0)
    path = tmp_path / "investigations" / bisection.LEDGER
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(WrongUse, match=message) as refused:
        run(1, 0)
    assert "Delete it" in refused.value.hint
