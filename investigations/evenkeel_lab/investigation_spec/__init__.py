"""Investigations as their `investigation.toml` states them: a question, arms, a load, margins fixed beforehand.

A question that takes several investigations is a study. Each of its investigations is a chapter.
"""

from __future__ import annotations

from evenkeel_lab.investigation_spec.arm import Arm
from evenkeel_lab.investigation_spec.investigation import Investigation
from evenkeel_lab.investigation_spec.read import find, known, name_of, read, read_study, studies
from evenkeel_lab.investigation_spec.study import Study
from evenkeel_lab.investigation_spec.template import readme, template

__all__ = [
    "Arm",
    "Investigation",
    "Study",
    "find",
    "known",
    "name_of",
    "read",
    "read_study",
    "readme",
    "studies",
    "template",
]
