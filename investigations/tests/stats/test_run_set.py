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


def compare_folders(place: Path, *arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(
        CliRunner().invoke(compare, [str(place / "off"), str(place / "on"), *arguments, "--json"]).stdout
    )
    return result | {"figures": {metric["figure"]: metric for metric in result["figures"]}}


def paired(result: dict[str, Any]) -> list[tuple[int, int]]:
    metric = result["figures"]["p50"]
    return [(round(a / 10), round(b / 20)) for a, b in zip(metric["baseline"], metric["candidate"], strict=True)]


def test_runs_of_the_same_name_are_paired(arms: Path, run: Callable[..., None]) -> None:
    run(arms / "off" / "10", ms=100)
    shutil.rmtree(arms / "off" / "3")
    (arms / "on" / "6").rename(arms / "on" / "06")
    result = compare_folders(arms)
    assert paired(result) == [(number, number) for number in (1, 2, 4, 5, 6)]
    assert result["pairs"] == 5
    assert "uneven: run 10 of off has no partner in on and is left out" in result["warnings"]
    assert "uneven: run 3 of on has no partner in off and is left out" in result["warnings"]


def test_a_folder_without_records_is_reported(arms: Path) -> None:
    for path in (arms / "off" / "3").glob("part-*"):
        path.unlink()
    result = compare_folders(arms)
    assert paired(result) == [(number, number) for number in (1, 2, 4, 5, 6)]
    assert f"no-records: {arms / 'off' / '3'} holds no records, and is left out" in result["warnings"]
    assert "uneven: run 3 of on has no partner in off and is left out" in result["warnings"]


def test_runs_without_common_names_are_paired_by_order_with_a_warning(arms: Path, run: Callable[..., None]) -> None:
    for number in range(1, 7):
        (arms / "on" / str(number)).rename(arms / "on" / f"run-{number}")
    run(arms / "on" / "run-10", ms=200)
    result = compare_folders(arms)
    assert paired(result) == [(number, number) for number in range(1, 7)]
    assert any(warning.startswith("paired-by-order") for warning in result["warnings"])
    assert "uneven: run run-10 of on has no partner in off and is left out" in result["warnings"]


def test_a_name_of_two_runs_is_refused(
    arms: Path, run: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    run(arms / "on" / "03")
    assert cli(["compare", str(arms / "off"), str(arms / "on")]) == 2
    assert "are the same name" in capsys.readouterr().err


def test_p50_is_the_primary_metric_of_records(arms: Path) -> None:
    result = compare_folders(arms)
    assert result["primary"] == "p50"
    assert result["figures"]["p50"]["primary"]
    assert not any(warning.startswith(("unknown", "uneven", "paired")) for warning in result["warnings"])


def test_a_metric_that_runs_lack_is_reported_and_not_replaced(arms: Path, run: Callable[..., None]) -> None:
    shutil.rmtree(arms / "on" / "2")
    run(arms / "on" / "2", requests=30)
    answer = CliRunner().invoke(compare, [str(arms / "off"), str(arms / "on"), "--margin", "p50=3%"])
    assert answer.exit_code == 3
    assert "p50 decides" in answer.stdout
    result = compare_folders(arms)
    assert "unknown: p50 of on has no value in some runs" in result["warnings"]
    assert result["primary"] == "p50"
    assert not any(one["primary"] for one in result["figures"].values())
    assert read_runs(arms / "on").partial == ("p50",)


def test_only_what_succeeds_is_throughput(arms: Path, run: Callable[..., None]) -> None:
    for number in range(1, 7):
        shutil.rmtree(arms / "on" / str(number))
        run(arms / "on" / str(number), ms=10 * number, failed=30)
    result = compare_folders(arms)["figures"]["throughput"]
    assert result["candidate"] == pytest.approx([value / 2 for value in result["baseline"]])


def test_an_arm_that_fails_wholly_says_so(arms: Path, run: Callable[..., None]) -> None:
    for number in range(1, 7):
        shutil.rmtree(arms / "on" / str(number))
        run(arms / "on" / str(number), failed=60)
    result = compare_folders(arms)
    assert result["pairs"] == 6
    assert result["figures"]["error_rate"]["candidate"] == [1.0] * 6
    assert result["figures"]["error_rate"]["said"] == "material"
    assert result["figures"]["throughput"]["candidate"] == [0.0] * 6
    assert "above_1s" not in result["figures"]
    assert not any(warning.startswith(("uneven", "no-common-figure")) for warning in result["warnings"])
    assert "unknown: p50 of on has no value in some runs" in result["warnings"]


def test_runs_without_any_figure_are_counted(tmp_path: Path, run: Callable[..., None]) -> None:
    for number in range(6):
        run(tmp_path / "off" / str(number), requests=0)
    assert read_runs(tmp_path / "off").count == 6


def test_records_that_are_broken_are_said_to_be_lost(arms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare_folders(arms)
    (arms / "off" / "3" / "records.parquet").write_bytes(b"nonsense")
    assert cli(["compare", str(arms / "off"), str(arms / "on")]) == 2
    assert "were removed" in capsys.readouterr().err
