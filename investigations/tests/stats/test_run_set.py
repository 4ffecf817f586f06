"""Folders of records, read and compared: which run meets which, and what is said of runs that are lost or fail."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from evenkeel_lab.cli import cli
from evenkeel_lab.cli.compare import compare
from evenkeel_lab.stats.run_set import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def arms(tmp_path: Path, run: Callable[..., None]) -> Path:
    """Make two arms of six runs; the n-th takes 10 n ms, and twice that in the second arm."""
    for number in range(1, 7):
        run(tmp_path / "off" / str(number), ms=10 * number)
        run(tmp_path / "on" / str(number), ms=20 * number)
    return tmp_path


def told(place: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        CliRunner().invoke(compare, [str(place / "off"), str(place / "on"), *arguments, "--json"]).stdout
    )
    return found | {"figures": {one["figure"]: one for one in found["figures"]}}


def paired(found: dict[str, Any]) -> list[tuple[int, int]]:
    one = found["figures"]["p50"]
    return [(round(a / 10), round(b / 20)) for a, b in zip(one["baseline"], one["candidate"], strict=True)]


def test_runs_meet_their_namesakes(arms: Path, run: Callable[..., None]) -> None:
    run(arms / "off" / "10", ms=100)
    shutil.rmtree(arms / "off" / "3")
    (arms / "on" / "6").rename(arms / "on" / "06")
    found = told(arms)
    assert paired(found) == [(number, number) for number in (1, 2, 4, 5, 6)]
    assert found["pairs"] == 5
    assert "uneven: run 10 of off has no partner in on and is left out" in found["warnings"]
    assert "uneven: run 3 of on has no partner in off and is left out" in found["warnings"]


def test_a_folder_without_records_is_named(arms: Path) -> None:
    for path in (arms / "off" / "3").glob("part-*"):
        path.unlink()
    found = told(arms)
    assert paired(found) == [(number, number) for number in (1, 2, 4, 5, 6)]
    assert f"no-records: {arms / 'off' / '3'} holds no records, and is left out" in found["warnings"]
    assert "uneven: run 3 of on has no partner in off and is left out" in found["warnings"]


def test_without_common_names_the_order_decides_and_it_is_said(arms: Path, run: Callable[..., None]) -> None:
    for number in range(1, 7):
        (arms / "on" / str(number)).rename(arms / "on" / f"run-{number}")
    run(arms / "on" / "run-10", ms=200)
    found = told(arms)
    assert paired(found) == [(number, number) for number in range(1, 7)]
    assert any(one.startswith("paired-by-order") for one in found["warnings"])
    assert "uneven: run run-10 of on has no partner in off and is left out" in found["warnings"]


def test_a_name_that_two_runs_have_is_refused(
    arms: Path, run: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    run(arms / "on" / "03")
    assert cli(["compare", str(arms / "off"), str(arms / "on")]) == 2
    assert "are one name" in capsys.readouterr().err


def test_p50_decides_of_records(arms: Path) -> None:
    found = told(arms)
    assert found["primary"] == "p50"
    assert found["figures"]["p50"]["primary"]
    assert not any(one.startswith(("untold", "uneven", "paired")) for one in found["warnings"])


def test_a_figure_that_only_some_runs_have_is_named_and_none_takes_its_place(
    arms: Path, run: Callable[..., None]
) -> None:
    shutil.rmtree(arms / "on" / "2")
    run(arms / "on" / "2", requests=30)
    answer = CliRunner().invoke(compare, [str(arms / "off"), str(arms / "on"), "--margin", "p50=3%"])
    assert answer.exit_code == 3
    assert "p50 decides" in answer.stdout
    found = told(arms)
    assert "untold: p50 of on cannot be told in every run" in found["warnings"]
    assert found["primary"] == "p50"
    assert not any(one["primary"] for one in found["figures"].values())
    assert read_runs(arms / "on").partial == ("p50",)


def test_only_what_succeeds_is_throughput(arms: Path, run: Callable[..., None]) -> None:
    for number in range(1, 7):
        shutil.rmtree(arms / "on" / str(number))
        run(arms / "on" / str(number), ms=10 * number, failed=30)
    found = told(arms)["figures"]["throughput"]
    assert found["candidate"] == pytest.approx([value / 2 for value in found["baseline"]])


def test_an_arm_that_fails_wholly_says_so(arms: Path, run: Callable[..., None]) -> None:
    for number in range(1, 7):
        shutil.rmtree(arms / "on" / str(number))
        run(arms / "on" / str(number), failed=60)
    found = told(arms)
    assert found["pairs"] == 6
    assert found["figures"]["error_rate"]["candidate"] == [1.0] * 6
    assert found["figures"]["error_rate"]["said"] == "material"
    assert found["figures"]["throughput"]["candidate"] == [0.0] * 6
    assert "above_1s" not in found["figures"]
    assert not any(one.startswith(("uneven", "no-common-figure")) for one in found["warnings"])
    assert "untold: p50 of on cannot be told in every run" in found["warnings"]


def test_runs_without_any_figure_are_counted(tmp_path: Path, run: Callable[..., None]) -> None:
    for number in range(6):
        run(tmp_path / "off" / str(number), requests=0)
    assert read_runs(tmp_path / "off").count == 6


def test_records_that_are_broken_are_said_to_be_lost(arms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(arms)
    (arms / "off" / "3" / "records.parquet").write_bytes(b"nonsense")
    assert cli(["compare", str(arms / "off"), str(arms / "on")]) == 2
    assert "were removed" in capsys.readouterr().err
