"""Correction for multiple comparisons: the more metrics are tested, the more of them differ by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenkeel_lab.stats.verdict import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def holm_correction(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on secondary metrics. A difference that may be chance by Holm's method is withdrawn."""
    if not verdicts:
        return []
    rejected = rejected_by_holm([verdict.p for verdict in verdicts], verdicts[0].alpha)
    return [
        verdict if is_real or not verdict.kind.is_real else replace(verdict, kind=_without_difference(verdict))
        for verdict, is_real in zip(verdicts, rejected, strict=True)
    ]


def rejected_by_holm(p_values: Sequence[float], alpha: float) -> NDArray[np.bool_]:
    """Return for each of `p_values` whether Holm's method rejects its null hypothesis.

    It is `multipletests` of statsmodels, which runs a full garbage collection on each call: a third of the time that
    all reports take.
    """
    order = np.argsort(p_values)
    below = np.asarray(p_values)[order] <= alpha / np.arange(len(p_values), 0, -1)
    rejected = np.empty(len(p_values), np.bool_)
    rejected[order] = np.logical_and.accumulate(below)
    return rejected


def _without_difference(verdict: Verdict) -> Kind:
    """Return the kind of `verdict` if its difference may be chance."""
    return Kind.NONE if verdict.kind is Kind.NEGLIGIBLE else Kind.INCONCLUSIVE
