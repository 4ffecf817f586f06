"""`evenkeel bisect`: its command line, with comparisons that are made up."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from evenkeel_lab.cli import bisect as command
from evenkeel_lab.errors import ProcessFailed, UnknownVersion, WrongUse
from evenkeel_lab.runner.bisection import comparer
from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.runner.bisection.comparison import CANDIDATE, GOOD, Plan, random_arrivals
from evenkeel_lab.stats import Scale

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RELEASES = ["1.106.2", "1.106.3", "1.107.0", "1.108.0", "1.108.7"]
SLOW = {"1.108.0", "1.108.7"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "investigations").mkdir()
    monkeypatch.chdir(tmp_path)

    async def releases(good: str, bad: str, _: object) -> list[str]:
        return RELEASES[RELEASES.index(good) : RELEASES.index(bad) + 1]

    async def compared(
        _: Plan, release: str, is_enough: Callable[[BootEffects], bool], *, is_late: Callable[[], bool], **__: object
    ) -> BootEffects:
        if release == "1.107.0":
            raise ProcessFailed("LiteLLM 1.107.0 ended.", hint="See its log.")
        boots = effects.setdefault(release, [])
        while not is_late() and not is_enough(BootEffects(boots, Scale.FACTOR)):
            boots.append((0.1 if release in SLOW else 0.0) + 0.01 * (len(boots) % 2))
        return BootEffects(list(boots), Scale.FACTOR)

    effects: dict[str, list[float]] = {}

    monkeypatch.setattr(command, "between", releases)
    monkeypatch.setattr(comparer, "compare_releases", compared)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(command.bisect, ["--good", "1.106.2", *arguments])

    return invoke


def test_it_names_the_first_release_with_the_change_and_those_that_were_left_out(run: Any) -> None:
    result = run("--bad", "1.108.7")
    assert result.exit_code == 0
    assert "1.108.0 is the first release with the change, with a probability of 9" in result.output
    assert re.search(r"p50 \+1[\d.]+ % \(boots: \+10.0, \+11.0.*\) against 1.106.2.", result.output)
    assert "These could not be measured, and may already have the change: 1.107.0." in result.output
    assert "1.107.0 could not be compared: LiteLLM 1.107.0 ended." in result.output


def test_without_a_change_the_exit_code_is_1(run: Any) -> None:
    result = run("--bad", "1.106.3")
    assert result.exit_code == 1
    assert "No change of p50 from 1.106.2 to 1.106.3, with a probability of 9" in result.output


def test_the_result_can_be_a_json_document(run: Any) -> None:
    result = run("--bad", "1.108.7", "--json")
    document = json.loads(result.stdout)
    assert (document["first_bad"], document["last_good"]) == ("1.108.0", "1.106.3")
    boots = {each["release"]: each["boots"] for each in document["comparisons"]}
    assert boots["1.108.0"][:2] == [0.1, pytest.approx(0.11)]
    assert all(each["probability_of_change"] > 0.97 for each in document["comparisons"] if each["release"] in SLOW)
    assert document["probability"] > 0.97
    assert document["is_certain"]
    assert document["skipped"] == ["1.107.0"]


def test_releases_may_be_chosen_in_any_order(run: Any) -> None:
    result = run("--bad", "1.108.7", "--releases", "1.108.0, 1.106.3")
    assert "1.108.0 is the first release" in result.output
    assert "2 releases between 1.106.2 and 1.108.7" in result.output


def test_if_the_chosen_releases_are_the_ends_only_these_are_compared(run: Any) -> None:
    result = run("--bad", "1.108.7", "--releases", "1.106.2,1.108.7")
    assert "0 releases between" in result.output
    assert "1.108.7 is the first release" in result.output


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--bad", "1.106.1"], WrongUse, "1.106.2 is not older than 1.106.1"),
        (["--bad", "1.106.2"], WrongUse, "is not older than"),
        (["--bad", "newest"], WrongUse, "newest"),
        (["--bad", "1.82.7"], UnknownVersion, "1.82.7"),
        (["--bad", "1.108.7", "--figure", "p59"], WrongUse, "There is no metric 'p59'"),
        (["--bad", "1.108.7", "--figure", "success_share"], WrongUse, "success_share is a metric of functions"),
    ],
)
def test_a_mistake_is_a_sentence(run: Any, arguments: list[str], error: type[WrongUse], message: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, error)
    assert message in str(result.exception)


def test_a_comparison_is_a_session_of_duets_with_new_boots(tmp_path: Path) -> None:
    plan = Plan(
        "1.106.2", "p95", random_arrivals(rate=20.0, seconds=20.0), tmp_path, lambda release: {"litellm": release}
    )
    wanted = plan.investigation("1.108.7")
    assert {name: arm.litellm for name, arm in wanted.arms.items()} == {GOOD: "1.106.2", CANDIDATE: "1.108.7"}
    assert (wanted.primary, wanted.session.pairs_per_boot) == ("p95", 1)


def test_a_search_without_a_comparison_of_both_ends_has_no_result(run: Any) -> None:
    result = run("--bad", "1.107.0")
    assert result.exit_code == 3
    assert "1.107.0 could not be compared with 1.106.2." in result.output


def test_a_comparison_does_not_begin_without_the_time_for_one(run: Any) -> None:
    result = run("--bad", "1.108.7", "--budget", "1")
    assert result.exit_code == 3
    assert "1.108.7 could not be compared with 1.106.2." in result.output
