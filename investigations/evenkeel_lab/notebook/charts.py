"""Rows of effects in the charts of notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes


def draw_effect(axes: Axes, row: int, verdict: Mapping[Any, Any], *, color: str = "C0", marker: str = "o") -> None:
    """Draw a verdict in a row of a chart in percent: the effect, its interval, and the margin in grey."""
    effect, low, high, margin = (100 * verdict[name] for name in ("effect", "low", "high", "margin"))
    axes.barh(row, 2 * margin, left=-margin, height=0.9, color="0.92")
    axes.hlines(row, low, high, color=color, linewidth=5)
    axes.plot(effect, row, marker, color="white", markeredgecolor=color)


def label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Label the rows of a chart, from top to bottom, and draw a line at zero."""
    axes.axvline(0, color="black", linewidth=1)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
