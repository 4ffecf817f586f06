"""Investigations, as their `investigation.toml` asks for them: a question, arms, a load, margins fixed beforehand."""

from __future__ import annotations

from evenkeel_lab.experiment.investigation import Arm, Investigation
from evenkeel_lab.experiment.read import find, known, read
from evenkeel_lab.experiment.template import readme, template

__all__ = ["Arm", "Investigation", "find", "known", "read", "readme", "template"]
