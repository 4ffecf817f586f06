"""Correction for multiple comparisons: the more metrics are tested, the more of them differ by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from statsmodels.stats.multitest import multipletests

from evenkeel_lab.stats.verdict import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm_correction(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on secondary metrics. A difference that may be chance by Holm's method is withdrawn."""
    if not verdicts:
        return []
    rejected = multipletests([verdict.p for verdict in verdicts], alpha=verdicts[0].alpha, method="holm")[0]
    return [
        verdict if is_real or not verdict.kind.is_real else replace(verdict, kind=_without_difference(verdict))
        for verdict, is_real in zip(verdicts, rejected, strict=True)
    ]


def _without_difference(verdict: Verdict) -> Kind:
    """Return the kind of `verdict` if its difference may be chance."""
    return Kind.NONE if verdict.kind is Kind.NEGLIGIBLE else Kind.INCONCLUSIVE
