"""What the cost of an arm is made of: each switch's arm against the full one, and against the baseline.

Costs are in the figure's own unit, so that they add up; what they do not add up to is the rest, which belongs to none
of them, or (below zero) to several.
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
    """One switch, or the rest."""

    name: str
    about: str
    cost: Amount
    """What the full arm saves without it."""
    share: Amount | None
    """Of the whole cost; None if there may be none."""
    left: Amount | None
    """What still stands above the baseline without it; None of the rest."""


@dataclass(frozen=True)
class Attribution:
    """What a figure's cost is made of."""

    figure: str
    total: Amount
    """What the full arm costs above the baseline."""
    pieces: Sequence[Piece]
    rest: Piece | None
    """None if too few pairs have all of the arms."""


def attribute(
    investigation: Investigation, done: Mapping[str, Sequence[Run]], pairs: int, figure: str
) -> Attribution | None:
    """Return what the cost of the full arm is made of; None if there is no basis for it."""
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
    saved = {
        name: {pair: -cost for pair, cost in costs(ablation.full, one.arm).items()}
        for name, one in ablation.switches.items()
    }
    left = {name: costs(investigation.baseline, one.arm) for name, one in ablation.switches.items()}
    if min(map(len, (total, *saved.values(), *left.values()))) < LEAST_PAIRS:
        return None
    pieces = [
        Piece(
            name,
            switch.about,
            _amount(saved[name].values(), alpha),
            _share(saved[name], total, alpha),
            _amount(left[name].values(), alpha),
        )
        for name, switch in ablation.switches.items()
    ]
    return Attribution(figure, _amount(total.values(), alpha), pieces, _rest(total, saved, alpha))


def _rest(total: Costs, saved: Mapping[str, Costs], alpha: float) -> Piece | None:
    common = {pair for pair in total if all(pair in costs for costs in saved.values())}
    if len(common) < LEAST_PAIRS:
        return None
    rest = {pair: total[pair] - sum(costs[pair] for costs in saved.values()) for pair in common}
    return Piece("rest", "what none of them explains", _amount(rest.values(), alpha), _share(rest, total, alpha), None)


def _amount(values: Iterable[float], alpha: float) -> Amount:
    found = np.fromiter(values, dtype=np.float64)
    low, high = DescrStatsW(found).tconfint_mean(alpha)
    return Amount(float(found.mean()), float(low), float(high))


def _share(part: Costs, total: Costs, alpha: float) -> Amount | None:
    """Return a part's share of the whole: a ratio of means, with the interval of its linear approximation."""
    whole = _amount(total.values(), alpha)
    common = sorted(part.keys() & total.keys())
    if whole.low <= 0 <= whole.high or len(common) < LEAST_PAIRS:
        return None
    parts = np.array([part[pair] for pair in common])
    wholes = np.array([total[pair] for pair in common])
    ratio = float(parts.mean() / wholes.mean())
    around = _amount((parts - ratio * wholes) / wholes.mean(), alpha)
    return Amount(ratio, ratio + around.low, ratio + around.high)
