"""Notebooks of investigations: a session as pandas frames, and notebooks that are executed the same way every time."""

from __future__ import annotations

from evenkeel_lab.notebook.opening import Opened, investigation

__all__ = ["Opened", "investigation"]
