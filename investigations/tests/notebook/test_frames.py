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


def row(frame: pd.DataFrame, **wanted: object) -> pd.Series:
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1, wanted
    return frame.iloc[0]


def test_every_run_has_a_row_in_the_order_of_time(ablated: Summary) -> None:
    found = frames.runs(ablated)
    assert len(found) == sum(map(len, ablated.done.values()))
    assert found["at_s"].is_monotonic_increasing
    assert (found["at_s"].iloc[0], found["at_s"].iloc[-1]) == (0.0, 10.0 * (len(ablated.done) - 1))
    told = row(found, meeting="003+off+on", arm="on")
    run = next(run for run in ablated.done["003+off+on"] if run.arm == "on")
    assert (told["pair"], told["p50"], told["cores"], told["cpu_s"]) == (3, run.figures["p50"], str(run.cores[0]), 5.0)
    assert told["limited"] == "requests were sent late"
    assert set(found["limited"]) == {"", "requests were sent late"}
    assert found[found["arm"] == "direct"]["cpu_ms"].isna().all()
    assert sorted(found[found["meeting"] == "003+off+on"]["turn"]) == [1, 2]


def test_pairs_are_those_that_count(ablated: Summary) -> None:
    found = frames.pairs(ablated, judged(ablated))
    own = found[(found["baseline"] == "off") & (found["candidate"] == "on") & (found["figure"] == "p50")]
    assert list(own["pair"]) == [1, 2, 4, 5, 6, 7, 8]
    one = own.iloc[0]
    assert one["difference"] == pytest.approx(math.log(one["candidate_value"] / one["baseline_value"]))
    assert one["effect"] == pytest.approx(one["candidate_value"] / one["baseline_value"] - 1)


def test_a_figure_of_zero_has_no_difference(case: Callable[..., Summary]) -> None:
    summary = case()
    for runs in summary.done.values():
        runs[:] = [replace(run, figures=run.figures | {"cpu_ms": 0.0}) for run in runs]  # type: ignore[index]
    judgement = judged(summary)
    found = frames.pairs(summary, judgement)
    assert found[found["figure"] == "cpu_ms"]["difference"].isna().all()
    told = row(frames.verdicts(judgement), candidate="on", figure="cpu_ms")
    assert (told["kind"], told["why_not"]) == ("no verdict", "a figure of zero has no factor")
    assert math.isnan(told["effect"])


def test_verdicts_are_the_judges_own_as_shares(ablated: Summary) -> None:
    judgement = judged(ablated)
    found = frames.verdicts(judgement)
    one = next(one for one in judgement.comparisons if (one.baseline, one.candidate) == ("off", "on"))
    verdict = one.figures[0].verdict
    assert verdict is not None
    told = row(found, baseline="off", candidate="on", figure="p50")
    assert (told["effect"], told["low"], told["high"]) == pytest.approx(
        tuple(map(math.expm1, (verdict.mean, verdict.low, verdict.high)))
    )
    assert (told["kind"], told["primary"], told["pairs"], told["margin"]) == ("material", True, 7, pytest.approx(0.05))
    assert (told["p"], told["spread"], told["alpha"]) == (verdict.p, verdict.spread, verdict.alpha)
    assert told["more_pairs"] is pd.NA
    assert len(found) == sum(len(one.figures) for one in judgement.comparisons)
    # A difference of shares stays one: nothing is divided by nothing.
    rates = row(found, baseline="off", candidate="on", figure="error_rate")
    assert (rates["scale"], rates["effect"], rates["margin"]) == ("points", 0.0, 0.005)


def test_quantiles_are_one_row_for_each_run_and_share(ablated: Summary) -> None:
    found = frames.quantiles(ablated)
    told = row(found, meeting="002+lean+off", arm="lean", share=0.9)
    assert told["latency_ms"] == ablated.sketches["002+lean+off"]["lean"].quantiles["0.9"]
    assert len(found) == 2 * sum(map(len, ablated.done.values()))
    assert set(found[found["limited"] != ""]["meeting"]) == {"003+off+on", "003+lean+on"}


def test_costs_are_the_ablations(ablated: Summary, case: Callable[..., Summary]) -> None:
    found = frames.costs(ablated)
    attributed = attribute(ablated.investigation, ablated.done, 8, "p50")
    assert attributed is not None
    assert row(found, figure="p50", piece="total")["cost"] == attributed.total.mean
    lookups = row(found, figure="p50", piece="lookups")
    piece = attributed.pieces[0]
    assert piece.share is not None
    assert (lookups["low"], lookups["share"], lookups["share_high"]) == (
        piece.cost.low,
        piece.share.mean,
        piece.share.high,
    )
    assert list(found[found["figure"] == "p50"]["piece"]) == ["total", "lookups", "rest"]
    none = frames.costs(case())
    assert none.empty
    assert list(none) == list(found)


def test_what_others_found_stands_beside_ours(ablated: Summary) -> None:
    found = frames.expected(ablated, judged(ablated))
    claimed = row(found, arm="on", figure="p50")
    assert (claimed["claimed"], claimed["published_pairs"], claimed["kind"]) == (0.33, 0, "material")
    assert claimed["effect"] == pytest.approx(0.2, abs=0.02)
    assert math.isnan(claimed["published"])
    published = row(found, arm="on", figure="p95")
    assert published["published"] == pytest.approx(0.1, abs=0.01)
    assert published["published_low"] < published["published"] < published["published_high"]
    assert (published["published_pairs"], published["kind"]) == (6, "no verdict")


def test_a_session_without_a_verdict_has_its_pairs_nevertheless(case: Callable[..., Summary]) -> None:
    summary = case(pairs=3)
    judgement = judged(summary)
    assert set(frames.verdicts(judgement)["kind"]) == {"no verdict"}
    assert frames.pairs(summary, judgement)["effect"].notna().all()


def test_a_session_that_has_not_begun_has_empty_frames(case: Callable[..., Summary]) -> None:
    summary = case(pairs=0)
    judgement = judged(summary)
    found = [
        frames.runs(summary),
        frames.pairs(summary, judgement),
        frames.verdicts(judgement),
        frames.quantiles(summary),
        frames.costs(summary),
    ]
    assert all(frame.empty for frame in found)
    assert list(found[2]) == list(frames.VERDICTS)


@pytest.mark.docs
@pytest.mark.parametrize("name", ["RUNS", "PAIRS", "VERDICTS", "QUANTILES", "COSTS", "EXPECTED"])
def test_every_column_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "investigations.md").read_text()
    (line,) = re.findall(rf"^\| `\.{name.lower()}` \|.*$", page, re.MULTILINE)
    assert [column for column in getattr(frames, name) if f"`{column}`" not in line] == []
