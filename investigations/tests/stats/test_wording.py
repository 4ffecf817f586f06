"""Texts of verdicts claim no more than the verdict."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from evenkeel_lab.stats import Kind, wording
from evenkeel_lab.stats.compare import Compared, compare
from evenkeel_lab.stats.metrics import METRICS
from evenkeel_lab.stats.run_set import Runs


def compared(effect: float, spread: float, *, runs: int = 12, figure: str = "p50") -> Compared:
    source = np.random.default_rng(1)
    noise = source.normal(0, spread, runs)
    noise -= noise.mean()
    first = [100.0] * runs if figure == "p50" else [0.1] * runs
    second = [value * float(np.exp(effect + one)) for value, one in zip(first, noise, strict=True)]
    (found,) = compare(Runs("off", {figure: first}), Runs("on", {figure: second})).figures
    return found


@pytest.mark.parametrize(
    ("effect", "spread", "kind", "says"),
    [
        (0.3, 0.05, Kind.MATERIAL, "The whole interval is beyond the margin of 5.0 %."),
        (0.02, 0.005, Kind.NEGLIGIBLE, "The difference is real, and smaller than the margin of 5.0 %"),
        (0.0, 0.02, Kind.NONE, "If there is a difference, it is smaller than the margin of 5.0 %"),
        (0.06, 0.05, Kind.UNCERTAIN, "It may or may not reach the margin of 5.0 %"),
        (0.03, 0.2, Kind.INCONCLUSIVE, "It may be nothing, or more than the margin of 5.0 %"),
    ],
)
def test_each_verdict_has_its_sentence(effect: float, spread: float, kind: Kind, says: str) -> None:
    one = compared(effect, spread)
    assert one.verdict is not None
    assert one.verdict.kind == kind
    assert says in wording.meaning(one)
    assert ("more pair" in wording.meaning(one) or "thousand" in wording.meaning(one)) == (not kind.is_settled)


def test_a_sentence_states_direction_and_amounts() -> None:
    assert wording.sentence(compared(0.3, 0.0), "off") == (
        "Median latency: +35.0 % [+35.0, +35.0] against `off`, 135 ms instead of 100 ms."
    )
    assert "Median latency: -25.9 % [-26.2, -25.6] against `off`, " in wording.sentence(compared(-0.3, 0.01), "off")
    assert "Requests above 1 s: +3.5 points [" in wording.sentence(compared(0.3, 0.01, figure="above_1s"), "off")


def test_a_direction_replaces_the_sign() -> None:
    assert wording.lower(compared(-0.3, 0.01)) == "25.9 % lower [25.6, 26.2]"
    assert wording.higher(compared(0.3, 0.0)) == "35.0 % higher [35.0, 35.0]"
    assert wording.higher(compared(0.3, 0.01, figure="above_1s")).startswith("3.5 points higher [")
    assert re.fullmatch(r"2\.0 % lower \[-\d+\.\d, \d+\.\d\]", wording.lower(compared(-0.02, 0.2)))


@pytest.mark.parametrize("effect", [0.01, -0.01])
def test_an_interval_beyond_the_margin_is_explained_where_equivalence_is_claimed(effect: float) -> None:
    wide, narrow = compared(effect, 0.108), compared(effect, 0.05)
    assert wide.verdict is not None
    assert wide.verdict.kind is Kind.NONE
    assert max(-wide.verdict.low, wide.verdict.high) > wide.verdict.margin
    assert ", by the 90.0 % interval that decides about equivalence." in wording.meaning(wide)
    assert "equivalence" not in wording.meaning(narrow)


def test_a_metric_without_verdict_has_no_effect() -> None:
    one = compared(0.3, 0.01, runs=5)
    assert wording.sentence(one, "off") == "Median latency has no verdict: too few pairs: 5, of at least 6."
    assert not wording.meaning(one)


def test_a_difference_that_correction_withdrew_is_explained_by_chance() -> None:
    one = compared(0.06, 0.05)
    assert one.verdict is not None
    held = replace(one, verdict=replace(one.verdict, kind=Kind.INCONCLUSIVE, more_pairs=None))
    assert wording.verdict(held) == "inconclusive: with this number of metrics, it may be chance"


@pytest.mark.parametrize(
    ("figure", "amounts", "said"),
    [
        ("p50", (105.4, 87.9, 122.9), "+105 ms [+88, +123]"),
        ("p50", (-15.94, -42.3, 10.5), "-15.9 ms [-42.3, +10.5]"),
        ("p50", (-0.0, -0.0, 0.0), "+0 ms [+0, +0]"),
        ("above_1s", (0.0044, -0.001, 0.0099), "+0.440 points [-0.100, +0.990]"),
        ("value", (0.00012, 0.0001, 0.00014), "+0.000120 [+0.000100, +0.000140]"),
    ],
)
def test_a_cost_has_three_digits(figure: str, amounts: tuple[float, float, float], said: str) -> None:
    assert wording.change(METRICS[figure], *amounts) == said


def test_equal_values_differ_by_zero() -> None:
    assert wording.sentence(compared(0.0, 0.0), "off") == (
        "Median latency: +0.00 % [+0.00, +0.00] against `off`, 100 ms instead of 100 ms."
    )


def test_zero_has_no_sign() -> None:
    assert wording.effect(compared(-1e-9, 0.0)) == "+0.00 % [+0.00, +0.00]"


@pytest.mark.parametrize("factor", [1 - 1e-12, 1 + 1e-12])
@pytest.mark.parametrize("size", [0.01, 0.0125, 0.225, 1.0])
def test_a_margin_reads_the_same_whatever_its_last_bits_are(size: float, factor: float) -> None:
    one = compared(0.3, 0.05)
    here, there = (replace(one, margin=replace(one.margin, size=told)) for told in (size, size * factor))
    assert wording.margin(there) == wording.margin(here)


@pytest.mark.parametrize("value", [0.125, 9.995, 99.95, 100.0, 1000.0, 1234.5])
def test_an_amount_reads_the_same_whatever_its_last_bits_are(value: float) -> None:
    for figure in (METRICS["p50"], METRICS["error_rate"]):
        said = {wording.size(figure, value * (1 + moved)) for moved in (0.0, -1e-12, 1e-12)}
        changes = {wording.change(figure, *[value * (1 + moved)] * 3) for moved in (0.0, -1e-12, 1e-12)}
        assert (len(said), len(changes)) == (1, 1)
