from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from evenkeel_lab.notebook import frames
from evenkeel_lab.runner.results.ablation import attribute
from evenkeel_lab.runner.results.analysis import judge_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel_lab.runner.results.analysis import Judgement
    from evenkeel_lab.runner.results.summary import Summary

ROOT = Path(__file__).parents[3]


def judged(summary: Summary) -> Judgement:
    return judge_session(summary.investigation, summary.done, frames.last_look(summary))


def row(frame: pd.DataFrame, **values: object) -> pd.Series:
    for name, value in values.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1, values
    return frame.iloc[0]


def test_runs_have_one_row_each_in_the_order_of_time(ablated: Summary) -> None:
    frame = frames.runs(ablated)
    assert len(frame) == sum(map(len, ablated.done.values()))
    assert frame["at_s"].is_monotonic_increasing
    assert (frame["at_s"].iloc[0], frame["at_s"].iloc[-1]) == (0.0, 10.0 * (len(ablated.done) - 1))
    values = row(frame, scheduled_pair="003+off+on", arm="on")
    run = next(run for run in ablated.done["003+off+on"] if run.arm == "on")
    assert (values["pair"], values["p50"], values["cores"], values["cpu_s"]) == (
        3,
        run.figures["p50"],
        str(run.cores[0]),
        5.0,
    )
    assert values["limited"] == "requests were sent late"
    assert set(frame["limited"]) == {"", "requests were sent late"}
    assert frame[frame["arm"] == "direct"]["cpu_ms"].isna().all()
    assert sorted(frame[frame["scheduled_pair"] == "003+off+on"]["turn"]) == [1, 2]


def test_pairs_exclude_pairs_that_do_not_count(ablated: Summary) -> None:
    frame = frames.pairs(ablated, judged(ablated))
    own = frame[(frame["baseline"] == "off") & (frame["candidate"] == "on") & (frame["figure"] == "p50")]
    assert list(own["pair"]) == [1, 2, 4, 5, 6, 7, 8]
    first = own.iloc[0]
    assert first["difference"] == pytest.approx(math.log(first["candidate_value"] / first["baseline_value"]))
    assert first["effect"] == pytest.approx(first["candidate_value"] / first["baseline_value"] - 1)


def test_a_figure_of_zero_has_no_difference(case: Callable[..., Summary]) -> None:
    summary = case()
    for runs in summary.done.values():
        runs[:] = [replace(run, figures=run.figures | {"cpu_ms": 0.0}) for run in runs]  # type: ignore[index]
    judgement = judged(summary)
    frame = frames.pairs(summary, judgement)
    assert frame[frame["figure"] == "cpu_ms"]["difference"].isna().all()
    values = row(frames.verdicts(judgement), candidate="on", figure="cpu_ms")
    assert (values["kind"], values["why_not"]) == ("no verdict", "a figure of zero has no factor")
    assert math.isnan(values["effect"])


def test_verdicts_equal_those_of_the_analysis_as_fractions(ablated: Summary) -> None:
    judgement = judged(ablated)
    frame = frames.verdicts(judgement)
    comparison = next(each for each in judgement.comparisons if (each.baseline, each.candidate) == ("off", "on"))
    verdict = comparison.figures[0].verdict
    assert verdict is not None
    values = row(frame, baseline="off", candidate="on", figure="p50")
    assert (values["effect"], values["low"], values["high"]) == pytest.approx(
        tuple(map(math.expm1, (verdict.mean, verdict.low, verdict.high)))
    )
    assert (values["kind"], values["primary"], values["pairs"], values["margin"]) == (
        "material",
        True,
        7,
        pytest.approx(0.05),
    )
    assert (values["p"], values["spread"], values["alpha"]) == (verdict.p, verdict.spread, verdict.alpha)
    assert values["more_pairs"] is pd.NA
    assert len(frame) == sum(len(each.figures) for each in judgement.comparisons)
    # The difference of two shares is not divided by the baseline, which is 0 here.
    rates = row(frame, baseline="off", candidate="on", figure="error_rate")
    assert (rates["scale"], rates["effect"], rates["margin"]) == ("points", 0.0, 0.005)


def test_quantiles_have_one_row_per_run_and_share(ablated: Summary) -> None:
    frame = frames.quantiles(ablated)
    values = row(frame, scheduled_pair="002+lean+off", arm="lean", share=0.9)
    assert values["latency_ms"] == ablated.sketches["002+lean+off"]["lean"].quantiles["0.9"]
    assert len(frame) == 2 * sum(map(len, ablated.done.values()))
    assert set(frame[frame["limited"] != ""]["scheduled_pair"]) == {"003+off+on", "003+lean+on"}


def test_costs_equal_those_of_the_ablation(ablated: Summary, case: Callable[..., Summary]) -> None:
    frame = frames.costs(ablated)
    attributed = attribute(ablated.investigation, ablated.done, 8, "p50")
    assert attributed is not None
    assert row(frame, figure="p50", piece="total")["cost"] == attributed.total.mean
    lookups = row(frame, figure="p50", piece="lookups")
    piece = attributed.pieces[0]
    assert piece.share is not None
    assert (lookups["low"], lookups["share"], lookups["share_high"]) == (
        piece.cost.low,
        piece.share.mean,
        piece.share.high,
    )
    assert list(frame[frame["figure"] == "p50"]["piece"]) == ["total", "lookups", "rest"]
    none = frames.costs(case())
    assert none.empty
    assert list(none) == list(frame)


def test_published_values_stand_beside_ours(ablated: Summary) -> None:
    frame = frames.expected(ablated, judged(ablated))
    claimed = row(frame, arm="on", figure="p50")
    assert (claimed["claimed"], claimed["published_pairs"], claimed["kind"]) == (0.33, 0, "material")
    assert claimed["effect"] == pytest.approx(0.2, abs=0.02)
    assert math.isnan(claimed["published"])
    published = row(frame, arm="on", figure="p95")
    assert published["published"] == pytest.approx(0.1, abs=0.01)
    assert published["published_low"] < published["published"] < published["published_high"]
    assert (published["published_pairs"], published["kind"]) == (6, "no verdict")


def test_a_session_without_a_verdict_has_rows_for_its_pairs(case: Callable[..., Summary]) -> None:
    summary = case(pairs=3)
    judgement = judged(summary)
    assert set(frames.verdicts(judgement)["kind"]) == {"no verdict"}
    assert frames.pairs(summary, judgement)["effect"].notna().all()


def test_a_session_that_has_not_begun_has_empty_frames(case: Callable[..., Summary]) -> None:
    summary = case(pairs=0)
    judgement = judged(summary)
    all_frames = [
        frames.runs(summary),
        frames.pairs(summary, judgement),
        frames.verdicts(judgement),
        frames.quantiles(summary),
        frames.costs(summary),
    ]
    assert all(frame.empty for frame in all_frames)
    assert list(all_frames[2]) == list(frames.VERDICTS)


@pytest.mark.docs
@pytest.mark.parametrize("name", ["RUNS", "PAIRS", "VERDICTS", "QUANTILES", "COSTS", "EXPECTED"])
def test_every_column_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "investigations.md").read_text()
    (line,) = re.findall(rf"^\| `\.{name.lower()}` \|.*$", page, re.MULTILINE)
    assert [column for column in getattr(frames, name) if f"`{column}`" not in line] == []
