"""Sentences and numbers of comparisons: the same on the terminal and in reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.stats import Kind, Scale
from evenkeel_lab.stats.rounding import steady

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel_lab.stats.compare import Compared
    from evenkeel_lab.stats.metrics import Metric

NO_VERDICT, UNBELIEVED, UNMEASURED = "no verdict", "invalid", "not measured yet"
A_PART = "a part"
OTHER_SIGN = str.maketrans("+-", "-+")
HUGE = 1e9
"""Numbers from this size on are shown in scientific notation."""
BY_CHANCE = "with this number of metrics, it may be chance"


def effect(compared: Compared) -> str:
    """Return the effect with its interval; empty without a verdict."""
    if compared.verdict is None:
        return ""
    if compared.metric.is_part:
        return part(compared)
    middle, low, high = (
        _signed(compared, value) for value in (compared.verdict.mean, compared.verdict.low, compared.verdict.high)
    )
    return f"{middle} {_unit(compared)} [{low}, {high}]"


def lower(compared: Compared) -> str:
    """Return by how much the candidate's value is lower, with the interval; empty without a verdict."""
    if compared.verdict is None:
        return ""
    ends = (compared.verdict.mean, compared.verdict.high, compared.verdict.low)
    # What is higher at one end of the interval has a minus there.
    middle, least, most = (_signed(compared, end).translate(OTHER_SIGN).removeprefix("+") for end in ends)
    return f"{middle} {_unit(compared)} lower [{least}, {most}]"


def higher(compared: Compared) -> str:
    """Return by how much the candidate's value is higher, with the interval; empty without a verdict."""
    if compared.verdict is None:
        return ""
    ends = (compared.verdict.mean, compared.verdict.low, compared.verdict.high)
    middle, least, most = (_signed(compared, end).removeprefix("+") for end in ends)
    return f"{middle} {_unit(compared)} higher [{least}, {most}]"


def part(compared: Compared) -> str:
    """Return the candidate's value as a part of the baseline's, with its interval; empty without a verdict."""
    if compared.verdict is None:
        return ""
    ends = (compared.verdict.mean, compared.verdict.low, compared.verdict.high)
    middle, low, high = (_number((1 + compared.margin.effect(end)) * 100) for end in ends)
    return f"{middle} % [{low}, {high}]"


def multiple(compared: Compared) -> str:
    """Return the candidate's value as a multiple of the baseline's, with its interval; empty without a verdict."""
    if compared.verdict is None:
        return ""
    ends = (compared.verdict.mean, compared.verdict.low, compared.verdict.high)
    middle, low, high = (_times(1 + compared.margin.effect(end)) for end in ends)
    return f"{middle} [{low}, {high}]"


def factor(compared: Compared) -> str:
    """Return the baseline's value as a multiple of the candidate's, with its interval; empty without a verdict."""
    if compared.verdict is None:
        return ""
    ends = (compared.verdict.mean, compared.verdict.high, compared.verdict.low)
    middle, low, high = (_times(1 / (1 + compared.margin.effect(end))) for end in ends)
    return f"{middle} [{low}, {high}]"


def estimate(compared: Compared) -> str:
    """Return the name of the metric with its effect, or with the reason why there is none."""
    return f"{compared.metric.name} {effect(compared) or compared.why_not}"


def detectable(compared: Compared) -> str:
    """Return the smallest detectable effect; empty without a verdict."""
    return (
        ""
        if compared.verdict is None
        else f"{_signed(compared, compared.verdict.detectable).lstrip('+')} {_unit(compared)}"
    )


def margin(compared: Compared) -> str:
    """Return the margin, with its unit."""
    width = compared.margin.width(compared.baseline, compared.candidate)
    if width == math.inf:
        return f"{compared.margin.floor:g} {compared.metric.unit}".rstrip()
    return f"{_number(compared.margin.effect(width) * 100)} {_unit(compared)}"


def verdict(compared: Compared) -> str:
    """Return the verdict, with the further pairs that would settle it, or the reason why there is none."""
    if compared.verdict is None:
        return f"{NO_VERDICT}: {compared.why_not}"
    if compared.metric.is_part:
        return A_PART
    if compared.verdict.kind.is_settled:
        return str(compared.verdict.kind)
    return f"{compared.verdict.kind}: {further(compared)}"


def kind(compared: Compared) -> str:
    """Return the kind of the verdict; a metric that is shown as a part has no verdict."""
    assert compared.verdict is not None
    return A_PART if compared.metric.is_part else str(compared.verdict.kind)


def stated(compared: Compared, *, invalid: bool) -> str:
    """Return the verdict, marked as unreliable if the session is `invalid`."""
    text = verdict(compared)
    return f"{text} ({UNBELIEVED})" if invalid and compared.verdict is not None else text


def further(compared: Compared) -> str:
    """Return what would settle an open verdict."""
    verdict = compared.verdict
    assert verdict is not None
    if verdict.kind is Kind.INCONCLUSIVE and not verdict.low <= 0 <= verdict.high:
        return BY_CHANCE
    if verdict.more_pairs is None:
        return f"more than a thousand more {compared.unit}s are needed"
    return f"about {verdict.more_pairs} more {compared.unit}{'' if verdict.more_pairs == 1 else 's'} would settle it"


def sentence(compared: Compared, baseline: str) -> str:
    """Return a sentence that compares the candidate's value with the baseline's."""
    title = compared.metric.title[:1].upper() + compared.metric.title[1:]
    if compared.verdict is None:
        return f"{title} has no verdict: {compared.why_not}."
    first, second = amount(compared, compared.baseline), amount(compared, compared.candidate)
    if compared.metric.is_part:
        return f"{title}: {part(compared)} of that of `{baseline}`, {second} of {first}."
    return f"{title}: {effect(compared)} against `{baseline}`, {second} instead of {first}."


def meaning(compared: Compared) -> str:
    """Return a sentence that explains the verdict."""
    if compared.verdict is None or compared.metric.is_part:
        return ""
    limit = margin(compared)
    match compared.verdict.kind:
        case Kind.MATERIAL:
            return f"The whole interval is beyond the margin of {limit}."
        case Kind.NEGLIGIBLE:
            return f"The difference is real, and smaller than the margin of {limit}{_narrower(compared)}."
        case Kind.NONE:
            return f"If there is a difference, it is smaller than the margin of {limit}{_narrower(compared)}."
        case Kind.UNCERTAIN:
            return f"The difference is real. It may or may not reach the margin of {limit}: {further(compared)}."
        case Kind.INCONCLUSIVE:
            return f"It may be nothing, or more than the margin of {limit}: {further(compared)}."


def _narrower(compared: Compared) -> str:
    """Return which interval was compared with the margin; empty if the shown interval lies within it too."""
    verdict = compared.verdict
    if verdict is None or (-verdict.margin <= verdict.low and verdict.high <= verdict.margin):
        return ""
    return f", by the {_number(100 - 200 * verdict.alpha)} % interval that decides about equivalence"


def change(metric: Metric, mean: float, low: float, high: float) -> str:
    """Return a difference in the unit of the metric, with its interval."""
    points = metric.usual.scale is Scale.POINTS
    values = [steady(value * 100 if points else value) for value in (mean, low, high)]
    decimals = _decimals(max(map(abs, values)))
    # Values that are rounded to zero have no sign.
    text = [f"{round(value, decimals) + 0.0:+,.{decimals}f}" for value in values]
    unit = f" {'points' if points else metric.unit}".rstrip()
    return f"{text[0]}{unit} [{text[1]}, {text[2]}]"


def share(mean: float, low: float, high: float) -> str:
    """Return a share with its interval."""
    middle, least, most = (f"{steady(value * 100):.0f}" for value in (mean, low, high))
    return f"{middle} % [{least}, {most}]"


def middle(values: Sequence[float], scale: Scale) -> float:
    """Return the mean of an arm's values on the scale of their comparison: of factors the geometric mean."""
    if is_geometric(values, scale):
        return float(np.exp(np.mean(np.log(values))))
    # The sum of very large values would overflow.
    return sum(value / len(values) for value in values)


def is_geometric(values: Sequence[float], scale: Scale) -> bool:
    """Return whether the mean of an arm's values is the geometric one. It is not, if a value is zero."""
    return scale is Scale.FACTOR and all(value > 0 for value in values)


def amount(compared: Compared, values: Sequence[float]) -> str:
    """Return the mean of an arm's values with its unit."""
    return size(compared.metric, middle(values, compared.margin.scale))


def size(metric: Metric, value: float) -> str:
    """Return a value of a metric with its unit."""
    value = steady(value)
    if metric.usual.scale is Scale.POINTS:
        return f"{value * 100:.2f} %"
    digits = f"{value:,.0f}" if 1000 <= value < HUGE else f"{value:,.3g}"  # noqa: PLR2004  # four digits are enough
    return f"{digits} {metric.unit}".rstrip()


def _signed(compared: Compared, difference: float) -> str:
    text = _number(abs(compared.margin.effect(difference)) * 100)
    # Values that are rounded to zero have no sign.
    return f"{'-' if difference < 0 and float(text.replace(',', '')) else '+'}{text}"


def _number(value: float) -> str:
    value = steady(value)
    if value >= HUGE:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"  # noqa: PLR2004


def _times(value: float) -> str:
    """Return a multiple with three digits."""
    text = f"{steady(value):.3g}"
    number = float(text)
    return f"{number:,.0f}" if 1000 <= number < HUGE else text  # noqa: PLR2004


def _unit(compared: Compared) -> str:
    return "points" if compared.margin.scale is Scale.POINTS else "%"


def _decimals(largest: float) -> int:
    """Return the number of decimals that shows three digits of `largest`."""
    return 0 if not 0 < largest < math.inf else min(6, max(0, 2 - math.floor(math.log10(largest))))
