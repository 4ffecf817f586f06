from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings, strategies as st

from evenkeel_lab.cli import cli
from evenkeel_lab.cli.compare import compare, document, table
from evenkeel_lab.cli.output import results
from evenkeel_lab.stats import Kind, Margin, Scale, wording
from evenkeel_lab.stats.compare import compare as compare_runs
from evenkeel_lab.stats.metrics import METRICS
from evenkeel_lab.stats.run_set import Runs, read_runs

if TYPE_CHECKING:
    from pathlib import Path

# A proxy with its Prometheus callback on and off, six runs each, as its investigators published them.
ON = "avg_s,p95_s\n.405,.822\n.442,.887\n.511,1.131\n.381,.952\n.318,.565\n.393,1.106\n"
OFF = "avg_s,p95_s\n.319,.693\n.328,.696\n.276,.540\n.376,.741\n.347,.580\n.288,.598\n"
# A gateway with its route cache on and off, one run each, from which a gain of 3-5 % was claimed.
anything = st.floats(0, 1.7e308)
CACHE_ON, CACHE_OFF = "rps,avg_ms\n9659.56,10.37\n", "rps,avg_ms\n9701.35,10.33\n"


def compare_files(tmp_path: Path, first: str, second: str, *arguments: str) -> Result:
    (tmp_path / "a.csv").write_text(first)
    (tmp_path / "b.csv").write_text(second)
    return CliRunner().invoke(compare, [str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), *arguments])


def test_single_runs_get_no_verdict(tmp_path: Path) -> None:
    answer = compare_files(tmp_path, CACHE_OFF, CACHE_ON)
    assert answer.exit_code == 3
    assert answer.stdout.count("no verdict: too few pairs: 1, of at least 6") == 2
    result = json.loads(compare_files(tmp_path, CACHE_OFF, CACHE_ON, "--json").stdout)
    assert [metric["verdict"] for metric in result["figures"]] == [None, None]


def test_six_runs_per_arm_give_verdict_interval_and_missing_pairs(tmp_path: Path) -> None:
    answer = compare_files(tmp_path, OFF, ON, "--primary", "mean", "--json")
    assert answer.exit_code == 0
    result = {metric["figure"]: metric for metric in json.loads(answer.stdout)["figures"]}
    assert result["mean"]["effect"] == "+26.1 % [-2.8, +63.6]"
    assert result["mean"]["said"] == "inconclusive: about 11 more pairs would settle it"
    assert result["p95"]["verdict"]["kind"] == Kind.UNCERTAIN
    assert result["p95"]["verdict"]["more_pairs"] > 0
    assert "+39.4 % [+3.0, +88.6]" in compare_files(tmp_path, OFF, ON).stdout


def test_swapping_the_arms_swaps_the_sign(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(OFF)
    (tmp_path / "b.csv").write_text(ON)
    off, on = read_runs(tmp_path / "a.csv"), read_runs(tmp_path / "b.csv")
    for there, back in zip(compare_runs(off, on).figures, compare_runs(on, off).figures, strict=True):
        assert there.verdict is not None
        assert back.verdict is not None
        assert (there.verdict.kind, there.verdict.mean) == (back.verdict.kind, pytest.approx(-back.verdict.mean))


def test_a_difference_below_the_floor_is_material_in_neither_direction(tmp_path: Path) -> None:
    low, high = "database_calls\n" + "0.1\n" * 6, "database_calls\n.145\n.146\n.144\n.145\n.146\n.144\n"
    for first, second in ((low, high), (high, low)):
        (result,) = json.loads(compare_files(tmp_path, first, second, "--json").stdout)["figures"]
        assert result["said"] == "real but negligible"
        assert " 50.0 % " in compare_files(tmp_path, first, second).stdout


def test_the_margin_of_zero_values_is_the_floor_in_their_own_unit(tmp_path: Path) -> None:
    zeros = "database_calls\n" + "0\n" * 6
    answer = compare_files(tmp_path, zeros, zeros)
    assert answer.exit_code == 3
    assert " 0.05 " in answer.stdout


def test_a_margin_may_be_widened(tmp_path: Path) -> None:
    narrow = json.loads(compare_files(tmp_path, OFF, ON, "--json").stdout)["figures"][0]["verdict"]["margin"]
    wide = json.loads(compare_files(tmp_path, OFF, ON, "--margin", "p95=20%", "--json").stdout)["figures"][0][
        "verdict"
    ]["margin"]
    assert wide > narrow


def test_secondary_metrics_are_corrected_together() -> None:
    shifts = {"p50": 0.1, "p90": 0.04, "p95": 0.04, "p99": 0.04, "mean": 0.04}
    noise = [0.03, -0.02, 0.01, 0.04, -0.03, -0.03]
    first = Runs("a", dict.fromkeys(shifts, [100.0] * 6))
    second = Runs("b", {name: [100 * (1 + shift + error) for error in noise] for name, shift in shifts.items()})
    alone = compare_runs(Runs("a", {"p99": [100.0] * 6}), Runs("b", {"p99": second.figures["p99"]}))
    assert alone.figures[0].verdict is not None
    assert alone.figures[0].verdict.kind.is_real
    kinds = {
        compared.metric.name: compared.verdict.kind
        for compared in compare_runs(first, second).figures
        if compared.verdict
    }
    assert kinds["p50"].is_real
    assert not kinds["p99"].is_real


def test_a_value_of_zero_is_compared_in_points_but_not_by_factor() -> None:
    zeros = {"error_rate": [0.0] * 6, "database_calls": [0.0] * 6}
    by_name = {compared.metric.name: compared for compared in compare_runs(Runs("a", zeros), Runs("b", zeros)).figures}
    assert by_name["error_rate"].verdict is not None
    assert by_name["error_rate"].verdict.kind is Kind.NONE
    assert by_name["database_calls"].why_not == "a figure of zero has no factor"


def test_runs_without_a_partner_are_reported() -> None:
    result = compare_runs(Runs("a", {"p50": [1.0] * 7}), Runs("b", {"p50": [1.0] * 6}))
    assert result.pairs == 6
    assert any(warning.startswith("uneven") for warning in result.warnings)
    assert "uneven: run 7 of a has no partner in b and is left out" in result.warnings
    nothing = compare_runs(Runs("a", {"p50": [1.0]}), Runs("b", {"p95": [1.0]})).warnings
    assert any(warning.startswith("no-common-figure") for warning in nothing)


@pytest.mark.parametrize(
    ("values", "why_not"),
    [
        ([1.0, -1.0], "a figure below zero has no factor"),
        ([1.0, float("nan")], "not every value is a finite number"),
        ([1.0, float("inf")], "not every value is a finite number"),
    ],
)
def test_a_metric_without_verdict_states_the_reason(values: list[float], why_not: str) -> None:
    (result,) = compare_runs(Runs("a", {"p50": values * 3}), Runs("b", {"p50": [1.0] * 6})).figures
    assert (result.verdict, result.why_not) == (None, why_not)
    document(compare_runs(Runs("a", {"p50": values * 3}), Runs("b", {"p50": [1.0] * 6})))


def test_a_share_above_one_gets_no_verdict() -> None:
    (result,) = compare_runs(Runs("a", {"error_rate": [1.5] * 6}), Runs("b", {"error_rate": [0.5] * 6})).figures
    assert (result.verdict, result.why_not) == (None, "a share is a number from 0 to 1")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(anything, anything), min_size=6, max_size=8), st.sampled_from(["p50", "database_calls"]))
def test_values_of_any_size_are_compared(pairs: list[tuple[float, float]], name: str) -> None:
    first, second = zip(*pairs, strict=True)
    there, back = (
        compare_runs(Runs("a", {name: list(one)}), Runs("b", {name: list(other)}))
        for one, other in ((first, second), (second, first))
    )
    for result in (there, back):
        json.dumps(document(result), allow_nan=False)
        results().print(table(result))
        wording.sentence(result.figures[0], "a")
    kinds = [one.figures[0].verdict.kind if one.figures[0].verdict else None for one in (there, back)]
    assert kinds[0] == kinds[1]


def test_the_first_column_decides_and_the_output_names_it(tmp_path: Path) -> None:
    answer = compare_files(tmp_path, OFF, ON)
    assert "b against a, 6 pairs; mean decides" in answer.stdout
    result = json.loads(compare_files(tmp_path, OFF, ON, "--primary", "p95", "--json").stdout)
    assert result["primary"] == "p95"
    assert [metric["figure"] for metric in result["figures"] if metric["primary"]] == ["p95"]


def test_a_missing_primary_metric_is_not_replaced_by_another(tmp_path: Path) -> None:
    answer = compare_files(tmp_path, "p95_ms,mean_ms\n" + "1,2\n" * 6, "mean_ms\n" + "2\n" * 6, "--json")
    result = json.loads(answer.stdout)
    assert answer.exit_code == 3
    assert (result["primary"], [metric["primary"] for metric in result["figures"]]) == ("p95", [False])
    assert "unknown: p95 of b has no value in some runs" in result["warnings"]
    assert any(warning.startswith("no-primary: p95") for warning in result["warnings"])


@pytest.mark.parametrize("option", [("--primary", "cpu_ms"), ("--margin", "cpu_ms=3%")])
def test_a_metric_that_no_run_has_is_refused(
    tmp_path: Path, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(OFF)
    assert cli(["compare", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), *option]) == 2
    said = capsys.readouterr().err
    assert f"{option[0]}: these runs have no cpu_ms." in said
    assert "They have p95, mean." in said


def test_wrong_use_is_reported_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["compare", str(tmp_path / "none"), str(tmp_path)]) == 2
    assert "does not exist" in capsys.readouterr().err
    for margin in ("p50", "p50=x", "p50=-1%", "p59=1%"):
        assert cli(["compare", str(tmp_path), str(tmp_path), "--margin", margin]) == 2
    assert cli(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "holds no records" in capsys.readouterr().err


SHARES = {
    "above_1s",
    "above_5s",
    "first_above_5s",
    "error_rate",
    "lock_waits",
    "journal_locked",
    "no_retry_after",
    "seen_in_log",
    "seen_in_metrics",
}


def test_every_metric_has_a_sensible_margin() -> None:
    for name, figure in METRICS.items():
        assert figure.name == name
        assert isinstance(figure.usual, Margin)
        assert 0 < figure.usual.size < 1
        assert (figure.usual.scale is Scale.POINTS) == (name in SHARES or name.endswith("_share"))
