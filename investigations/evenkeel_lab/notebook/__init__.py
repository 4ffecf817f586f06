"""Notebooks of investigations: results as pandas frames, and reproducible execution of notebooks."""

from __future__ import annotations

from evenkeel_lab.notebook.charts import draw_effect, label_rows
from evenkeel_lab.notebook.opening import MeasuredInvestigation, investigation

__all__ = ["MeasuredInvestigation", "draw_effect", "investigation", "label_rows"]
