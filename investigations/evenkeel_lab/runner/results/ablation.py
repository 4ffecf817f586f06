"""Ablation: the shares of an arm's cost. Each switch's arm is compared with the full arm and with the baseline.

Costs are in the metric's own unit, so that they add up. The rest of the whole cost belongs to no switch, or, if it is
negative, to several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from evenkeel_lab.runner.results.analysis import paired
from evenkeel_lab.stats import LEAST_PAIRS, alpha_per_look

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel_lab.investigation_spec import Investigation
    from evenkeel_lab.runner.measurement.run import Run

    Costs = Mapping[int, float]


@dataclass(frozen=True)
class Amount:
    """An estimate with its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Piece:
    """Cost of one switch, or the rest."""

    name: str
    about: str
    cost: Amount
    """The saving of the full arm without it, or what the baseline costs more with it alone."""
    share: Amount | None
    """The share of the whole cost; `None` if the whole cost may be zero."""
    left: Amount | None
    """The remaining cost above the baseline without it; `None` for the rest, and if no arm lacks only this part."""


@dataclass(frozen=True)
class Attribution:
    """The parts of a metric's cost."""

    figure: str
    total: Amount
    """The cost of the full arm above the baseline."""
    pieces: Sequence[Piece]
    rest: Piece | None
    """`None` if too few pairs have all arms."""


def attribute(
    investigation: Investigation, done: Mapping[str, Sequence[Run]], pairs: int, figure: str
) -> Attribution | None:
    """Return the parts of the full arm's cost; `None` without an ablation or with too few pairs."""
    ablation = investigation.ablation
    if ablation is None:
        return None
    alpha = alpha_per_look(investigation.session.looks)

    def costs(less: str, more: str) -> Costs:
        valid, _ = paired(investigation, done, pairs, less, more)
        return {
            pair: second.figures[figure] - first.figures[figure]
            for pair, first, second in valid
            if figure in first.figures and figure in second.figures
        }

    total = costs(investigation.baseline, ablation.full)
    above = {name: costs(investigation.baseline, switch.arm) for name, switch in ablation.switches.items()}
    parts = {
        name: above[name] if switch.alone else {pair: -cost for pair, cost in costs(ablation.full, switch.arm).items()}
        for name, switch in ablation.switches.items()
    }
    if min(map(len, (total, *parts.values(), *above.values()))) < LEAST_PAIRS:
        return None
    pieces = [
        Piece(
            name,
            switch.about,
            _amount(parts[name].values(), alpha),
            _share(parts[name], total, alpha),
            None if switch.alone else _amount(above[name].values(), alpha),
        )
        for name, switch in ablation.switches.items()
    ]
    return Attribution(figure, _amount(total.values(), alpha), pieces, _rest(total, parts, alpha))


def _rest(total: Costs, parts: Mapping[str, Costs], alpha: float) -> Piece | None:
    common = {pair for pair in total if all(pair in costs for costs in parts.values())}
    if len(common) < LEAST_PAIRS:
        return None
    rest = {pair: total[pair] - sum(costs[pair] for costs in parts.values()) for pair in common}
    return Piece("rest", "what none of them explains", _amount(rest.values(), alpha), _share(rest, total, alpha), None)


def _amount(values: Iterable[float], alpha: float) -> Amount:
    array = np.fromiter(values, dtype=np.float64)
    low, high = DescrStatsW(array).tconfint_mean(alpha)
    return Amount(float(array.mean()), float(low), float(high))


def _share(part: Costs, total: Costs, alpha: float) -> Amount | None:
    """Return the share of a part in the whole: a ratio of means, with an interval by the delta method."""
    whole = _amount(total.values(), alpha)
    common = sorted(part.keys() & total.keys())
    if whole.low <= 0 <= whole.high or len(common) < LEAST_PAIRS:
        return None
    parts = np.array([part[pair] for pair in common])
    wholes = np.array([total[pair] for pair in common])
    ratio = float(parts.mean() / wholes.mean())
    around = _amount((parts - ratio * wholes) / wholes.mean(), alpha)
    return Amount(ratio, ratio + around.low, ratio + around.high)
