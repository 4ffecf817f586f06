"""How comparisons are put in words: the same on the terminal and in reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.verdicts import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.comparison.compare import Compared

NO_VERDICT = "no verdict"


def effect(one: Compared) -> str:
    """Say an effect with its interval."""
    if one.verdict is None:
        return ""
    middle, low, high = (_said(one, value) for value in (one.verdict.mean, one.verdict.low, one.verdict.high))
    return f"{middle} {_unit(one)} [{low}, {high}]"


def estimate(one: Compared) -> str:
    """Say a figure with its effect, as far as there is one."""
    return f"{one.figure.name} {effect(one) or one.why_not}"


def detectable(one: Compared) -> str:
    """Say the smallest effect that would have been found."""
    return "" if one.verdict is None else f"{_said(one, one.verdict.detectable).lstrip('+')} {_unit(one)}"


def margin(one: Compared) -> str:
    """Say from where on a difference matters."""
    width = one.margin.effect(one.margin.width(one.baseline))
    return f"{_number(width * 100)} {_unit(one)}"


def verdict(one: Compared) -> str:
    """Say the verdict, and what it would take if there is none."""
    if one.verdict is None:
        return f"{NO_VERDICT}: {one.why_not}"
    if one.verdict.kind.is_settled:
        return str(one.verdict.kind)
    if one.verdict.more_pairs is None:
        return f"{one.verdict.kind}: not to be settled by a thousand pairs"
    return f"{one.verdict.kind}: {one.verdict.more_pairs} further pairs would probably settle it"


def middle(values: Sequence[float], scale: Scale) -> float:
    """Return the mean of an arm's figures, on the scale on which they are compared."""
    if scale is Scale.POINTS or not all(value > 0 for value in values):
        return float(np.mean(values))
    return float(np.exp(np.mean(np.log(values))))


def amount(one: Compared, values: Sequence[float]) -> str:
    """Say an arm's figure with its unit."""
    value = middle(values, one.margin.scale)
    if one.margin.scale is Scale.POINTS:
        return f"{value:.2%}"
    digits = f"{value:,.0f}" if value >= 1000 else f"{value:,.3g}"  # noqa: PLR2004  # four digits are enough
    return f"{digits} {one.figure.unit}".rstrip()


def _said(one: Compared, difference: float) -> str:
    return f"{'+' if difference >= 0 else '-'}{_number(abs(one.margin.effect(difference)) * 100)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"  # noqa: PLR2004


def _unit(one: Compared) -> str:
    return "points" if one.margin.scale is Scale.POINTS else "%"
