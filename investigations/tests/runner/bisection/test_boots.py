"""The effects in boots, as text."""

from __future__ import annotations

from evenkeel_lab.runner.bisection.boots import BootEffects
from evenkeel_lab.stats import Scale


def test_the_text_has_the_median_and_each_boot() -> None:
    assert BootEffects([0.05, 0.1, -0.01], Scale.FACTOR).text == "+5.0 % (boots: +5.0, +10.0, -1.0)"
    assert BootEffects([0.02], Scale.POINTS).text == "+2.0 points (boots: +2.0)"


def test_without_a_valid_boot_there_is_no_median() -> None:
    assert BootEffects([], Scale.FACTOR).text == "no valid boot"
