"""Several figures of one session: the more of them are looked at, the more of them differ by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from statsmodels.stats.multitest import multipletests

from evenkeel_lab.stats.verdict import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


def hold(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on a family of secondary figures: a difference that may be chance is none (Holm)."""
    if not verdicts:
        return []
    stands = multipletests([one.p for one in verdicts], alpha=verdicts[0].alpha, method="holm")[0]
    return [
        one if standing or not one.kind.is_real else replace(one, kind=_without(one))
        for one, standing in zip(verdicts, stands, strict=True)
    ]


def _without(one: Verdict) -> Kind:
    """Return what is left of a verdict whose difference may be chance."""
    return Kind.NONE if one.kind is Kind.NEGLIGIBLE else Kind.INCONCLUSIVE
