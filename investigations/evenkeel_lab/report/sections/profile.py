"""Where the CPU of each arm goes, if it was profiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel_lab.profiling.section import section
from evenkeel_lab.report.markdown import paragraph
from evenkeel_lab.runner.results.store import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_lab.report.report_data import Case

ANOTHER = "The profile was taken of another version of this investigation than its pairs."


def profile(case: Case, pictures: Mapping[str, str]) -> str:
    """Return the tables of a profile, and its flame graphs."""
    if case.profile is None:
        return ""
    lines = section(case.profile, pictures)
    if case.profile.digest != digest(case.asked):
        lines[2:2] = [paragraph(ANOTHER), ""]
    return "\n".join(lines).rstrip()
