"""Reports: markdown and plots, made from the summary of a session only."""

from __future__ import annotations

from evenkeel_lab.report.documented_numbers import wrong_numbers
from evenkeel_lab.report.files import Drift, Rendered, render, render_all, render_study, results_of

__all__ = ["Drift", "Rendered", "render", "render_all", "render_study", "results_of", "wrong_numbers"]
