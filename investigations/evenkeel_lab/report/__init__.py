"""Reports: markdown and figures from the summary of a session, and from nothing else."""

from __future__ import annotations

from evenkeel_lab.report.files import Drift, Rendered, render, render_all, render_book

__all__ = ["Drift", "Rendered", "render", "render_all", "render_book"]
