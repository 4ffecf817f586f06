"""Every doubt, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.report.markdown import items, paragraph, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.case import Case


def doubted(case: Case, _: Mapping[str, str]) -> str:
    """List them."""
    said = [f"{doubt.name}: {text(doubt.says)}" for doubt in case.doubts]
    return "\n\n".join(["## Doubts", items(said) if said else paragraph("None.")])
