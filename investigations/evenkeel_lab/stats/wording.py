"""How comparisons are put in words: the same on the terminal and in reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.stats import Kind, Scale
from evenkeel_lab.stats.rounding import steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.stats import Verdict
    from evenkeel_lab.stats.compare import Compared
    from evenkeel_lab.stats.metrics import Figure

NO_VERDICT, UNBELIEVED, UNMEASURED = "no verdict", "not to be believed", "not measured yet"
A_PART = "a part"
HUGE = 1e9
"""From here on digits are not written out."""
BY_CHANCE = "among so many figures it may be chance"


def effect(one: Compared) -> str:
    """Say an effect with its interval."""
    if one.verdict is None:
        return ""
    if one.figure.is_part:
        return part(one)
    middle, low, high = (_said(one, value) for value in (one.verdict.mean, one.verdict.low, one.verdict.high))
    return f"{middle} {_unit(one)} [{low}, {high}]"


def part(one: Compared) -> str:
    """Say which part the candidate's figure is of the baseline's, with its interval."""
    if one.verdict is None:
        return ""
    ends = (one.verdict.mean, one.verdict.low, one.verdict.high)
    middle, low, high = (_number((1 + one.margin.effect(end)) * 100) for end in ends)
    return f"{middle} % [{low}, {high}]"


def factor(one: Compared) -> str:
    """Say how many times the candidate's figure the baseline's is, with its interval."""
    if one.verdict is None:
        return ""
    ends = (one.verdict.mean, one.verdict.high, one.verdict.low)
    middle, low, high = (f"{steady(1 / (1 + one.margin.effect(end))):,.3g}" for end in ends)
    return f"{middle} [{low}, {high}]"


def estimate(one: Compared) -> str:
    """Say a figure with its effect, as far as there is one."""
    return f"{one.figure.name} {effect(one) or one.why_not}"


def detectable(one: Compared) -> str:
    """Say the smallest effect that would have been found."""
    return "" if one.verdict is None else f"{_said(one, one.verdict.detectable).lstrip('+')} {_unit(one)}"


def margin(one: Compared) -> str:
    """Say from where on a difference matters."""
    width = one.margin.width(one.baseline, one.candidate)
    if width == math.inf:
        return f"{one.margin.floor:g} {one.figure.unit}".rstrip()
    return f"{_number(one.margin.effect(width) * 100)} {_unit(one)}"


def verdict(one: Compared) -> str:
    """Say the verdict, and what it would take if there is none."""
    if one.verdict is None:
        return f"{NO_VERDICT}: {one.why_not}"
    if one.figure.is_part:
        return A_PART
    if one.verdict.kind.is_settled:
        return str(one.verdict.kind)
    return f"{one.verdict.kind}: {further(one.verdict)}"


def kind(one: Compared) -> str:
    """Say a verdict in a word or two; of a part nothing is judged."""
    assert one.verdict is not None
    return A_PART if one.figure.is_part else str(one.verdict.kind)


def stated(one: Compared, *, invalid: bool) -> str:
    """Say a verdict, and whether it may be believed: nothing of an invalid session may."""
    said = verdict(one)
    return f"{said} ({UNBELIEVED})" if invalid and one.verdict is not None else said


def further(found: Verdict) -> str:
    """Say what it would take to settle what is not settled."""
    if found.kind is Kind.INCONCLUSIVE and not found.low <= 0 <= found.high:
        return BY_CHANCE
    if found.more_pairs is None:
        return "more than a thousand further pairs would be needed to settle it"
    return f"{found.more_pairs} further {'pair' if found.more_pairs == 1 else 'pairs'} would probably settle it"


def sentence(one: Compared, baseline: str) -> str:
    """Say in plain words how a figure of the candidate compares with the baseline's."""
    if one.verdict is None:
        return f"Nothing can be said of its {one.figure.name}: {one.why_not}."
    first, second = amount(one, one.baseline), amount(one, one.candidate)
    if one.figure.is_part:
        return f"Its {one.figure.name} is {part(one)} of that of `{baseline}`, {second} of {first}."
    size, low, high = (_said(one, value) for value in (one.verdict.mean, one.verdict.low, one.verdict.high))
    way = {"+": "higher", "-": "lower"}[size[0]]
    differs = f"{size[1:]} {_unit(one)} {way} than" if float(size.replace(",", "")) else "equal to"
    return (
        f"Its {one.figure.name} is {differs} that of `{baseline}`, {second} against {first}; the interval of the "
        f"difference is {low} to {high} {_unit(one)}."
    )


def meaning(one: Compared) -> str:
    """Say in plain words what a verdict means for who has to decide."""
    if one.verdict is None or one.figure.is_part:
        return "No difference is judged." if one.verdict else "No verdict is made up."
    limit = margin(one)
    match one.verdict.kind:
        case Kind.MATERIAL:
            return f"From {limit} on a difference matters, and all of the interval lies beyond that."
        case Kind.NEGLIGIBLE:
            return f"There is a difference, but one that does not matter: it is smaller than {limit}{_narrower(one)}."
        case Kind.NONE:
            return (
                f"If there is a difference at all, it is smaller than the {limit} from which on it would matter"
                f"{_narrower(one)}."
            )
        case Kind.UNCERTAIN:
            return (
                f"There is a difference; whether it reaches the {limit} from which on it matters is open: "
                f"{further(one.verdict)}."
            )
        case Kind.INCONCLUSIVE:
            return f"It may be nothing, or more than the {limit} that matter: {further(one.verdict)}."


def _narrower(one: Compared) -> str:
    """Say what was held against the margin, where a reader would not expect it from the interval that is shown."""
    found = one.verdict
    if found is None or (-found.margin <= found.low and found.high <= found.margin):
        return ""
    low, high = (_said(one, value) for value in (found.inner_low, found.inner_high))
    level = _number(100 - 200 * found.alpha)
    return f", judged by the {level} % interval, which equivalence takes: {low} to {high} {_unit(one)}"


def change(figure: Figure, mean: float, low: float, high: float) -> str:
    """Say a difference in the figure's own unit, with its interval."""
    points = figure.usual.scale is Scale.POINTS
    values = [steady(value * 100 if points else value) for value in (mean, low, high)]
    decimals = _decimals(max(map(abs, values)))
    # What is rounded to nothing has no sign.
    said = [f"{round(value, decimals) + 0.0:+,.{decimals}f}" for value in values]
    unit = f" {'points' if points else figure.unit}".rstrip()
    return f"{said[0]}{unit} [{said[1]}, {said[2]}]"


def share(mean: float, low: float, high: float) -> str:
    """Say a share of a whole, with its interval."""
    middle, least, most = (f"{steady(value * 100):.0f}" for value in (mean, low, high))
    return f"{middle} % [{least}, {most}]"


def middle(values: Sequence[float], scale: Scale) -> float:
    """Return the mean of an arm's figures, on the scale on which they are compared."""
    if scale is Scale.POINTS or not all(value > 0 for value in values):
        # The sum of very large ones would be too large for a number.
        return sum(value / len(values) for value in values)
    return float(np.exp(np.mean(np.log(values))))


def amount(one: Compared, values: Sequence[float]) -> str:
    """Say an arm's figure with its unit."""
    return size(one.figure, middle(values, one.margin.scale))


def size(figure: Figure, value: float) -> str:
    """Say a value of a figure with its unit."""
    value = steady(value)
    if figure.usual.scale is Scale.POINTS:
        return f"{value * 100:.2f} %"
    digits = f"{value:,.0f}" if 1000 <= value < HUGE else f"{value:,.3g}"  # noqa: PLR2004  # four digits are enough
    return f"{digits} {figure.unit}".rstrip()


def _said(one: Compared, difference: float) -> str:
    said = _number(abs(one.margin.effect(difference)) * 100)
    # What is rounded to nothing has no sign of its own.
    return f"{'-' if difference < 0 and float(said.replace(',', '')) else '+'}{said}"


def _number(value: float) -> str:
    value = steady(value)
    if value >= HUGE:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"  # noqa: PLR2004


def _unit(one: Compared) -> str:
    return "points" if one.margin.scale is Scale.POINTS else "%"


def _decimals(largest: float) -> int:
    """Return how many decimals show three digits of a number."""
    return 0 if not 0 < largest < math.inf else min(6, max(0, 2 - math.floor(math.log10(largest))))
